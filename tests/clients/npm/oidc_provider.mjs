// An OpenID provider for the tests. Reads PROVIDER (JSON, see oidc_program.py), prints its address,
// and ends when its standard input does.

import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const asked = JSON.parse(process.env.PROVIDER);

const findAccount = (_, id) => ({
  accountId: id,
  claims: () => ({ sub: id, ...asked.accounts[id] }),
});

const configuration = {
  clients: [{
    client_id: asked.client_id,
    client_secret: asked.client_secret,
    redirect_uris: asked.redirect_uris,
    response_types: ["code"],
    grant_types: ["authorization_code"],
  }],
  claims: {
    openid: ["sub"],
    email: ["email", "email_verified"],
    profile: ["given_name", "name"],
    groups: ["groups"],
  },
  scopes: ["openid", "email", "profile", "groups"],
  cookies: { keys: ["of the tests"] },
  pkce: { required: () => true },
  ttl: { AuthorizationCode: (_, code) => (code.accountId === asked.late ? asked.code_s : 60) },
  findAccount,
};

// The address is part of what it says of itself: it listens before it is made.
const server = createServer((request, response) => handle(request, response));
let handle;
server.listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  handle = new Provider(address, configuration).callback();
  console.log(address);
});

process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
