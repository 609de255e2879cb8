// A real provider of OpenID Connect (npm oidc-provider) by TLS, for story login_oidc: provider.mjs ISSUER PORT CERTIFICATE KEY CLIENT SECRET REDIRECT_URI.
// Whoever logs in is who was typed, with any password: its development interactions.
import fs from 'node:fs';
import https from 'node:https';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const require = createRequire(path.join(process.env.OIDC_MODULES, 'package.json'));
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));
const [issuer, port, certificate, key, client, secret, redirect] = process.argv.slice(2);
const provider = new Provider(issuer, {
  clients: [{ client_id: client, client_secret: secret, redirect_uris: [redirect], response_types: ['code'], grant_types: ['authorization_code'] }],
  pkce: { required: () => true, methods: ['S256'] },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  cookies: { keys: ['a key of the story'] },
});
https.createServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) }, provider.callback())
  .listen(Number(port), '127.0.0.1', () => console.log('ready'));
