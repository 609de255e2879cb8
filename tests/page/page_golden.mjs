// What the page says at each place that it is given, as a person reads it, in its table and in its bands: for the story, which compares.
import {writeFileSync} from "node:fs";
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("golden");
const {page} = walk;
await walk.open("/drill");
await walk.logIn("olga");
const shown = {};

/** Each band by its name for those who do not see it; and the rests, which are no links of their own. */
async function bandsOf(path) {
  const picture = page.getByRole("region", {name: "How it splits"});
  if (path.includes("/pair:")) {
    need((await picture.count()) === 0, "one level is left: the table says all of it");
    return {};
  }
  await picture.getByRole("group").waitFor();
  return {
    links: await picture.locator("a").evaluateAll((list) => list.map((one) => ({column: Number(one.dataset.column), name: one.getAttribute("aria-label"), href: one.getAttribute("href")}))),
    still: await picture.locator("g.still text").allTextContents(),
    until: await picture.locator("header").textContent(),
  };
}

for (const path of facts.paths) {
  await page.getByLabel("Open a reference").fill(`/drill?path=${path}&at=${facts.end}&window=5m`);
  await page.keyboard.press("Enter");
  const table = page.locator("table.drill");
  await until(`${path} is shown`, async () => (await page.locator(".command code").last().textContent()).includes(`path=${path}&`) && (await table.locator("tbody tr").count()) > 0);
  const rate = async (row) => (await row.locator("td.number").first().textContent()).trim();
  shown[path] = {
    rates: [(await page.locator(".numbers b").first().textContent()).trim(), ...(await Promise.all((await table.locator("tbody tr").all()).map(rate)))],
    other: await table.locator("tfoot tr").first().textContent(),
    url: await page.locator(".command code").last().textContent(),
    bands: await bandsOf(path),
  };
  if (!path.includes("/")) {
    await page.getByRole("region", {name: "How it splits"}).scrollIntoViewIfNeeded();
    await walk.look("bands");
  }
}
writeFileSync(facts.shown, JSON.stringify(shown));
await walk.end();
