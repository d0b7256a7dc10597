// A person at a browser who signs in to the development pages of the authorization server and consents.

// signIn opens an address of the authorization server, and returns the query with which it sends the browser back to the client.
export async function signIn(address, login) {
  const jar = new Map();
  const redirect = new URL(address).searchParams.get('redirect_uri');
  let request = { url: String(address) };
  for (let step = 0; step < 20; step++) {
    const response = await fetch(request.url, {
      method: request.form ? 'POST' : 'GET', redirect: 'manual', body: request.form && new URLSearchParams(request.form),
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      jar.set(name, value);
    }
    const at = response.headers.get('location');
    if (at) {
      const next = new URL(at, request.url);
      if (String(next).startsWith(redirect)) return next.searchParams;
      request = { url: String(next) };
      continue;
    }
    const page = await response.text();
    const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
    if (!action || !prompt) throw new Error(`the authorization server answers ${response.status}: ${page.replace(/<style[^]*?<\/style>/g, '').replace(/<[^>]+>|\s+/g, ' ').slice(0, 500)}`);
    request = { url: String(new URL(action, request.url)), form: { prompt, login, password: 'x' } };
  }
  throw new Error('the sign-in does not end');
}
