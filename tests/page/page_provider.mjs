// A login by OpenID Connect, as a person sees it: a button, the provider's form, and back; and what comes back that nobody began here.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("provider");
const {page} = walk;
const happen = async (what) => (await fetch(facts.control + what)).json();
const title = () => page.getByRole("heading", {level: 1}).textContent();
const by = (name, more = "") => page.getByRole("button", {name: `Log in by ${name}${more}`, exact: true});
const said = async (...texts) => {
  const told = await page.getByRole("alert").textContent();
  for (const text of texts) need(told.includes(text), `it says "${text}": ${told}`);
  return told;
};
const screens = () => page.getByRole("navigation", {name: "Screens"});

/** Neither in the address nor in the history, and the tab keeps nothing. */
async function forgotten() {
  const history = await (await walk.context.newCDPSession(page)).send("Page.getNavigationHistory");
  const urls = history.entries.map((entry) => entry.url.replace(/\/callback\?.*/, "")).concat(page.url());
  need(!urls.some((url) => url.startsWith(facts.url) && /code=|error=/.test(url)), `no code is left: ${urls.join(" ")}`);
  need(await page.evaluate(() => sessionStorage.length === 0 && localStorage.getItem("haas-login") === null), "no verifier is left");
}

/** The forms of the provider, as far as it shows them, until the page is back. */
async function provider(press = "Sign-in") {
  await until("the provider's form", async () => page.url().startsWith("https://127.0.0.1:") && (await page.getByRole("button", {name: /Sign-in|Continue/}).count()) === 1, 20);
  if ((await page.getByRole("button", {name: "Sign-in"}).count()) === 1) {
    need(await page.evaluate(() => document.referrer === ""), "the provider learns no address of ours");
    if (press === "Cancel") return page.getByRole("link", {name: "Cancel"}).click();
    await page.getByPlaceholder("Enter any login").fill("ann@corp");
    await page.getByPlaceholder("and password").fill("x");
    await page.getByRole("button", {name: "Sign-in"}).click();
    await page.getByRole("button", {name: "Continue"}).waitFor();
  }
  await page.getByRole("button", {name: "Continue"}).click();
  await page.waitForURL(`${facts.url}/**`);
}

async function refused() {
  await walk.open("/nodes?q=gpu-0001");
  await by("corp").waitFor();
  await walk.look("login");
  await by("liar").click();
  await page.getByRole("alert").waitFor();
  await said("does not answer");
  need(page.url() === `${facts.url}/nodes?q=gpu-0001`, "a provider that is away is told here");
  await by("corp").click();
  await provider("Cancel");
  await page.getByRole("alert").waitFor();
  await said("corp lets nobody in: access_denied", "begin it again");
  await forgotten();
  await by("corp").click();
  await provider();
  await page.getByRole("alert").waitFor();
  await said("nobody was invited by this name", "one-time link");
  need(page.url() === `${facts.url}/nodes?q=gpu-0001`, `where it was: ${page.url()}`);
  await forgotten();
  await walk.look("refused");
  await walk.open("/link#haas_l_of_nobody");
  await by("corp", " instead").click();
  await page.getByRole("alert").waitFor();
  await said("this link");
  need(page.url() === `${facts.url}/link` && (await page.getByLabel("One-time link").inputValue()) === "haas_l_of_nobody", "the link is there again");
  await forgotten();
}

async function invited() {
  await walk.open(`/link#${(await happen("/link")).link}`);
  await by("corp", " instead").waitFor();
  await until("another link in the same tab begins anew", async () => (await page.getByRole("alert").count()) === 0);
  await walk.look("link");
  await by("corp", " instead").click();
  await screens().waitFor();
  await until("who logs in first sees the alerts", async () => (await title()) === "Alerts");
  need((await page.locator(".who").textContent()).includes("ann"), "as ann");
  await forgotten();
}

async function stranger() {
  const others = `${facts.url}/#code=haas_o_${"A".repeat(43)}`;
  for (const way of ["loaded", "changed"]) {
    if (way === "loaded") await page.goto("about:blank");
    await page.goto(others); // with the page in the tab, only its fragment changes
    await until(`a code of another tab is refused: ${way}`, async () => (await title()) === "Nothing has changed");
    await said("this tab began no login");
    await forgotten();
    if (way === "loaded") await walk.look("stranger");
    await page.getByRole("button", {name: "Go on as ann"}).click();
    await screens().waitFor();
    await page.evaluate(() => history.pushState(null, "", "/"));
  }
  await page.getByRole("button", {name: "Log out"}).click();
  await by("corp").waitFor();
  await page.goto("about:blank");
  await page.goto(`${facts.url}/#error=call+555+0100&hint=and+say+your+password`);
  await page.getByRole("alert").waitFor();
  need(!(await said("this tab began no login")).includes("555"), "words of a stranger are not shown");
  await forgotten();
}

async function again() {
  await walk.open("/nodes?q=gpu-0001");
  await by("corp").click();
  await screens().waitFor();
  need(page.url() === `${facts.url}/nodes?q=gpu-0001`, `where it was: ${page.url()}`);
  await page.getByRole("grid", {name: "Nodes"}).getByText("gpu-0001").first().waitFor();
  await forgotten();
}

async function away() {
  await page.getByRole("button", {name: "Log out"}).click();
  await by("corp").waitFor();
  await happen("/outward/stop");
  const answer = page.waitForResponse(`${facts.url}/api/v1/login/providers`);
  await page.reload();
  need((await answer).status() === 503, "nobody knows the providers");
  await page.getByLabel("Password").waitFor();
  need((await page.getByRole("button").count()) === 1, "a password is left");
}

await walk.context.route(/googleapis/, (route) => route.abort()); // the provider's letters
for (const part of [refused, invited, stranger, again, away]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/provider-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${page.url()} ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
