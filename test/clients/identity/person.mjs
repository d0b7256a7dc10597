// A person at a browser who signs in to the development pages of the authorization server and consents.

// signIn opens an address of the authorization server, and returns the query with which it sends the browser back to the client.
export async function signIn(address, login) {
  const redirect = new URL(address).searchParams.get('redirect_uri');
  const end = await new Browser(login).open(address, (at) => at.startsWith(redirect));
  if (!end.url.startsWith(redirect)) throw new Error(`the authorization server answers ${end.status}: ${end.text.replace(/<style[^]*?<\/style>/g, '').replace(/<[^>]+>|\s+/g, ' ').slice(0, 500)}`);
  return new URL(end.url).searchParams;
}

// A Browser belongs to a person who signs in, and consents, wherever they are asked.
export class Browser {
  constructor(login) {
    Object.assign(this, { login, jars: new Map() });
  }

  // open follows an address to the page where it ends: {status, text, url}. stop() ends it before a request.
  async open(address, stop = () => false) {
    let request = { url: String(address) };
    for (let step = 0; step < 40; step++) {
      if (stop(request.url)) return { url: request.url };
      const { host } = new URL(request.url);
      if (!this.jars.has(host)) this.jars.set(host, new Map());
      const jar = this.jars.get(host);
      const response = await fetch(request.url, {
        method: request.form ? 'POST' : 'GET', redirect: 'manual', body: request.form && new URLSearchParams(request.form),
        headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
        jar.set(name, value);
      }
      const at = response.headers.get('location');
      const text = await response.text();
      const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1];
      const prompt = /name="prompt" value="([^"]+)"/.exec(text)?.[1];
      if (at) request = { url: String(new URL(at, request.url)) };
      else if (action && prompt) request = { url: String(new URL(action, request.url)), form: { prompt, login: this.login, password: 'x' } };
      else return { status: response.status, text, url: request.url };
    }
    throw new Error('the pages do not end');
  }
}
