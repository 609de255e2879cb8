// My account: a second factor set up by its QR code, a token told once, sessions, members that are invited and disabled.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("account");
const {page} = walk;
const dialog = page.getByRole("dialog");
const control = async (path) => (await fetch(facts.control + path)).json();
const part = (name) => page.getByRole("region", {name});

async function begin() {
  await walk.open("/account");
  await walk.logIn("globex/gina");
  await part("Sessions").getByText("this one").waitFor();
  await part("Members").getByText("globex/gina").waitFor();
  await walk.look("account");
}

async function factor() {
  const box = part("Second factor");
  await box.getByLabel("Password").fill("not it at all");
  await box.getByRole("button", {name: "Set it up"}).click();
  await box.getByRole("alert").waitFor();
  await box.getByLabel("Password").fill(facts.password);
  await box.getByRole("button", {name: "Set it up"}).click();
  await box.getByRole("img", {name: "QR code of the secret"}).waitFor();
  const secret = (await box.locator(".secret").textContent()).trim();
  need(/^[A-Z2-7]{16,}$/.test(secret), "the secret is shown");
  need((await box.locator("svg.qr path").getAttribute("d")).length > 1000, "and drawn");
  await walk.look("qr");
  await fetch(`${facts.control}/secret?${secret}`);
  await box.getByLabel("Code of six digits").fill((await control("/code")).code);
  await box.getByRole("button", {name: "Use it from now on"}).click();
  const told = page.getByRole("status", {name: "Told once"}).filter({hasText: "Recovery codes, each good once"});
  await told.waitFor();
  const codes = (await told.locator("pre").textContent()).trim().split("\n");
  need(codes.length >= 8, `recovery codes: ${codes.length}`);
  await walk.look("codes", {narrow: false});
  await told.getByRole("button", {name: "I have it"}).click();
  await until("logins want a code", async () => (await box.textContent()).includes("Logins want a code."));
  await box.getByLabel("Password").fill(facts.password);
  await box.getByLabel("Code, or a recovery code").fill(codes[0]);
  await box.getByRole("button", {name: "Use none any more"}).click();
  await box.getByRole("button", {name: "Set it up"}).waitFor();
}

async function token() {
  const box = part("Tokens");
  await box.getByLabel("Name", {exact: true}).fill("ci");
  await box.getByRole("button", {name: "Make a token", exact: true}).click();
  const told = page.getByRole("status", {name: "Told once"}).filter({hasText: "Token ci"});
  const secret = (await told.locator("pre").textContent()).trim();
  await walk.look("token", {narrow: false});
  await fetch(`${facts.control}/shown?${encodeURIComponent(secret)}`);
  need((await control("/token")).status === 200, "the token works");
  await told.getByRole("button", {name: "I have it"}).click();
  need(!(await page.content()).includes(secret), "it is not on the page any more");
  await box.getByRole("button", {name: "End…"}).click();
  await dialog.getByLabel("Type 1, the count of what goes").fill("1");
  await dialog.getByRole("button", {name: "End it"}).click();
  await box.getByText("No token is open.").waitFor();
  need((await control("/token")).status === 401, "ended, it works no more");
}

async function members() {
  const box = part("Members");
  await box.getByLabel("Name of the person", {exact: true}).fill("ann");
  await box.getByRole("button", {name: "Invite", exact: true}).click();
  const told = page.getByRole("status", {name: "Told once"}).filter({hasText: "The link of ann"});
  const link = (await told.locator("pre").textContent()).trim();
  need(link.startsWith(`${facts.url}/link#haas_l_`), `a link to send: ${link.slice(0, 40)}`);
  await told.getByRole("button", {name: "I have it"}).click();
  await box.getByText("invited, no password yet").waitFor();
  await walk.look("members");
  await box.getByRole("button", {name: "Disable… globex/ann"}).click();
  await dialog.getByLabel("Type 1, the count of what goes").fill("1");
  await dialog.getByRole("button", {name: "Disable", exact: true}).click();
  await box.getByRole("button", {name: "Enable globex/ann"}).waitFor();
}

async function session() {
  const box = part("Sessions");
  await box.getByRole("button", {name: /this one$/}).click();
  await dialog.getByRole("button", {name: "End it"}).click();
  await until("the session that is ended leads to the door", async () => (await page.getByRole("heading", {level: 1}).textContent()) === "Log in", 20);
}

for (const part of [begin, factor, token, members, session]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/account-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
