// A real authorization server on loopback, for one resource:
//
//   node provider.mjs PORT RESOURCE [opaque] [KEY]
//
// Everybody can sign in, and is in the groups that their login has after a plus sign: alice+eng+ops. KEY names the signing key, so that
// another one, after a restart, is another key. It prints "ready".

import { generateKeyPairSync } from 'node:crypto';

import { Provider, errors } from 'oidc-provider';

const [port, resource, form = 'jwt', key = 'k1'] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

const DOCUMENT = {
  client_id: 'https://clients.example.com/sdk.json', client_name: 'sdk', application_type: 'native', token_endpoint_auth_method: 'none',
  redirect_uris: ['http://127.0.0.1/callback'], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
};

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: key, use: 'sig', alg: 'RS256' }] },
  scopes: ['openid', 'offline_access', 'mcp:read', 'mcp:write', 'mcp:execute'],
  pkce: { required: () => true },
  clients: [
    {
      client_id: 'native', application_type: 'native', token_endpoint_auth_method: 'none', redirect_uris: ['http://127.0.0.1/callback', 'http://127.0.0.1/connect/callback', 'http://127.0.0.1/back'],
      grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
    },
    { client_id: 'svc', client_secret: 'svc-secret', redirect_uris: [], response_types: [], grant_types: ['client_credentials'] },
  ],
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com`, groups: id.split('+').slice(1) }) }),
  claims: { openid: ['sub', 'groups'] },
  conformIdTokenClaims: false, // groups are in the ID token
  extraTokenClaims: (_, token) => (token.accountId ? { groups: token.accountId.split('+').slice(1), email: `${token.accountId}@example.com` } : { groups: ['machines'] }),
  clientBasedCORS: () => true,
  ttl: { AccessToken: 600, ClientCredentials: 600, Session: 3600, Interaction: 3600, Grant: 3600 },
  features: {
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    registration: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
    dPoP: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, asked) => {
        if (asked !== resource) throw new errors.InvalidTarget();
        return { scope: 'mcp:read mcp:write mcp:execute', audience: resource, accessTokenFormat: form, jwt: { sign: { alg: 'RS256' } } };
      },
    },
  },
  // What describes a client that does not register lies at an address of the internet, of which this is the only one.
  fetch: async (url) => (String(url) === DOCUMENT.client_id ? Response.json(DOCUMENT) : Response.error()),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
