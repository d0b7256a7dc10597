// A web site on this machine for the tools that fetch: a page, and a job board
// with one job.

import { createServer } from 'node:http';

const PAGE = '<!doctype html><title>A &amp; B</title><h1>Hello</h1><p>caf&eacute; <a href="/next">more</a></p>';
const JOB = `<li><div class="base-card base-search-card job-search-card" data-entity-urn="urn:li:jobPosting:4012345678">
<a class="base-card__full-link" href="https://www.linkedin.com/jobs/view/tester-at-example-4012345678?trk=x"><span class="sr-only">Tester</span></a>
<h3 class="base-search-card__title"> Tester </h3><h4 class="base-search-card__subtitle">Example</h4>
<span class="job-search-card__location">Oslo</span><time datetime="2026-01-02">1 week ago</time></div></li>`;

export class Site {
  static async start() {
    const site = new Site();
    site.server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url, 'http://site');
      const first = (searchParams.get('start') ?? '0') === '0';
      const body = pathname === '/page' ? PAGE : pathname.endsWith('/search') && first ? JOB : '';
      response.writeHead(pathname === '/page' || pathname.endsWith('/search') ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' });
      response.end(body);
    });
    await new Promise((resolve) => { site.server.listen(0, '127.0.0.1', resolve); });
    site.host = `127.0.0.1:${site.server.address().port}`;
    site.url = `http://${site.host}`;
    return site;
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => { this.server.close(resolve); });
  }
}
