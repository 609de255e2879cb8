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
/** Mbit/s in tenths, as many parts as asked for, the largest first. */
function cut(tenths, parts) {
  const weights = Array.from({length: parts}, (_, at) => Math.floor((tenths * (parts - at)) / ((parts * (parts + 1)) / 2)));
  weights[0] += tenths - weights.reduce((a, b) => a + b);
  return weights;
}

const sums = (tenths, whole) => ({
  bytes: tenths * 3750000, bytes_low: tenths * 3400000, bytes_high: tenths * 4100000, bits_per_second: tenths * 100000, packets: 1, samples: 1, share: whole ? tenths / whole : 0, exact_bytes: null, exact_seconds: null,
});

/** A level that nobody stored: 12 tenants, 11 VLANs each, 10 pairs each. The first tenant has a name that is a script, the second one of 63 letters. */
function made(path, limit) {
  const parts = path.split("/");
  const tenths = parts.slice(1).reduce((rate, part, at) => cut(rate, 12 - at)[Number(part.match(/\d+/)[0]) % 100], 9000);
  const nameOf = (at) => [["tenant:", at === 0 ? `0${facts.script}` : at === 1 ? `1${"long-".repeat(12)}t` : `${at}t`], ["vlan:", String(1300 + at)], ["pair:", `${at}a~b`]][parts.length - 1];
  const rows = cut(tenths, 13 - parts.length).map((rate, at) => {
    const [kind, name] = nameOf(at);
    return {name: kind === "vlan:" ? `${name}` : name, path: `${path}/${kind}${kind === "tenant:" ? encodeURIComponent(name) : name}`, network: "", ...sums(rate, tenths)};
  });
  const rest = rows.slice(limit).reduce((rate, row) => rate + row.bits_per_second / 100000, 0);
  return {
    path, url: `/drill?path=${path}`, level: ["link", "owner", "vlan", "pair"][parts.length - 1], from: "2026-01-01T09:55:00Z", to: "2026-01-01T10:00:00Z", step: 60, seconds: 300, memory_seconds: 0, thinned: 1, exact: false, scale: null,
    total: sums(tenths, tenths), rows: rows.slice(0, limit), other: sums(rest, tenths), notes: [],
  };
}

/** More of each than has room: each column is still the whole, nothing stands over anything else, and what cannot be read says so. */
async function many() {
  let refuse = false;
  await page.route(/\/api\/v1\/drill\?/, (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const path = asked.get("path") ?? "";
    if (refuse && path.includes("/")) return route.fulfill({status: 503, contentType: "application/problem+json", body: JSON.stringify({title: "the database is away", status: 503, hint: "it is tried again"})});
    return route.fulfill({json: made(path, Number(asked.get("limit")))});
  });
  const picture = page.getByRole("region", {name: "How it splits"});
  await walk.open("/drill?path=link:leaf3:up1&at=2026-01-01T10:00:00Z&window=5m");
  await picture.getByRole("group").waitFor();
  const tenths = (text) => Math.round(Number(/([\d.]+) Mbit/.exec(text)?.[1] ?? 0) * 10);
  const links = await picture.locator("a").evaluateAll((list) => list.map((one) => ({column: Number(one.dataset.column), name: one.getAttribute("aria-label"), href: one.getAttribute("href")})));
  const others = (await picture.locator("g.still text").allTextContents()).filter((text, at, all) => all[at - 1] === "other");
  for (const [column, most] of [[1, 6], [2, 8], [3, 9]]) {
    const mine = links.filter((one) => one.column === column && !one.name.startsWith("other of "));
    need(mine.length === most, `column ${column} has ${most} parts by themselves: ${mine.length}`);
    const sum = mine.reduce((total, one) => total + tenths(one.name), tenths(others[column - 1]));
    need(sum === 9000, `column ${column} is all of 900 Mbit/s: ${sum / 10}`);
    need(mine.every((one) => one.href.split("/").length === column + 2), `each leads ${column} down: ${mine.map((one) => one.href)}`);
    const into = links.filter((one) => one.column === column && one.name.startsWith("other of ")).reduce((total, one) => total + tenths(one.name), column > 1 ? tenths(others[column - 2]) : 0);
    need(column === 1 || into === tenths(others[column - 1]), `what flows into other is other: ${into}, ${others}`);
  }
  const crossed = await picture.locator("svg").evaluate((svg) => {
    const room = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
    const out = boxes.filter(([, box]) => box.left < room.left - 1 || box.right > room.right + 1 || box.top < room.top - 1 || box.bottom > room.bottom + 1);
    const over = boxes.flatMap(([a, one], at) => boxes.slice(at + 1).filter(([, two]) => one.left < two.right - 1 && two.left < one.right - 1 && one.top < two.bottom - 5 && two.top < one.bottom - 5).map(([b]) => `${a} and ${b}`));
    return [...out.map(([text]) => text), ...over];
  });
  need(crossed.length === 0, `no word over another, none outside: ${crossed}`);
  need((await picture.locator("text *").count()) === 0 && links.some((one) => one.name.startsWith(`0${facts.script}: `)), "a tenant's name is text");
  await picture.scrollIntoViewIfNeeded();
  await walk.look("bands-many");
  refuse = true;
  await walk.open("/drill?path=link:leaf3:up1&at=2026-01-01T10:00:00Z&window=15m");
  await picture.getByText("the database is away").waitFor();
  need((await page.locator("table.drill tbody tr").count()) === 12, "the table is there without it");
  await walk.look("bands-refused", {narrow: false});
  await page.unrouteAll({behavior: "wait"});
}

await many();
writeFileSync(facts.shown, JSON.stringify(shown));
await walk.end();
