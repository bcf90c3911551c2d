import { expect, type Page } from "@playwright/test";
import { Lab, test, TINY_BASE } from "./lab";

const TWO_ARMS = `${TINY_BASE}
factors:
  norm.placement: [pre, geo]
replicates: {seed: [1, 2]}
`.replace("train: {", "train: {steps: 30, ");

async function signIn(page: Page, lab: Lab) {
  await page.goto(await lab.normlab("open"));
  await expect(page.getByRole("status")).toHaveText("live");
}

async function finishedSweep(lab: Lab): Promise<string> {
  // The same file again links the finished runs, so that this costs training only once.
  return lab.submit("arms", TWO_ARMS, true);
}

interface CompareDocument {
  arms: { label: string; mean: number; n: number; diverged: { k: number; n: number } }[];
}

test("the list shows what the command line shows", async ({ page, lab }) => {
  const id = await finishedSweep(lab);
  await signIn(page, lab);
  const card = page.locator(`[data-sweep="${id}"]`);
  await expect(card).toContainText("arms");
  const { sweeps } = await lab.json<{ sweeps: { id: string; counts: { done: number } }[] }>("ls");
  const done = sweeps.find((sweep) => sweep.id === id)?.counts.done;
  expect(done).toBe(4);
  await expect(card).toContainText(`${done} done`);
});

test("the comparison has the command line's numbers", async ({ page, lab }) => {
  const id = await finishedSweep(lab);
  const document = await lab.json<CompareDocument>("compare", id);
  await signIn(page, lab);
  await page.goto(page.url().replace(/#.*|$/, `#/sweeps/${id}`));
  const table = page.getByRole("table", { name: "Comparison" });
  for (const arm of document.arms) {
    const row = table.locator(`[data-row="${arm.label}"]`);
    await expect(row.locator('[data-col="mean"]')).toHaveText(arm.mean.toPrecision(5));
    await expect(row.locator('[data-col="n"]')).toHaveText("2/2");
    await expect(row.locator('[data-col="diverged"]')).toHaveText(
      `${arm.diverged.k}/${arm.diverged.n}`,
    );
  }
});

test("a run's chart reads the stored values under the pointer", async ({ page, lab }) => {
  const id = await finishedSweep(lab);
  const { runs } = await lab.json<{ runs: { id: string }[] }>("runs", id);
  const run = runs[0]?.id as string;
  await signIn(page, lab);
  await page.goto(page.url().replace(/#.*|$/, `#/runs/${run}`));
  const figure = page.getByRole("figure", { name: "Loss", exact: true });
  const legend = figure.locator('[data-name="train loss"] b');
  const last = await storedLoss(lab, run, 30);
  await expect(legend).toHaveText(last.toPrecision(4));
  const plot = figure.locator(".u-over");
  const box = (await plot.boundingBox())!;
  await page.mouse.move(box.x + 1, box.y + box.height / 2);
  const step = Number(await figure.locator(".legend-x b").textContent());
  expect(step).toBeLessThanOrEqual(1);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const middle = Number(await figure.locator(".legend-x b").textContent());
  await expect(legend).toHaveText((await storedLoss(lab, run, middle)).toPrecision(4));
});

async function storedLoss(lab: Lab, run: string, step: number): Promise<number> {
  const sql = `SELECT value FROM scalar('${run}', 'train_loss') WHERE step = ${step}`;
  const document = await lab.json<{ rows: number[][] }>("query", sql);
  return document.rows[0]?.[0] as number;
}

test("new steps arrive by themselves", async ({ page, lab }) => {
  await signIn(page, lab);
  const yaml = TINY_BASE.replace("train: {", "train: {steps: 4000, ");
  const id = await lab.submit("live", yaml, false);
  await expect(page.locator(`[data-sweep="${id}"]`)).toBeVisible();
  await page.goto(page.url().replace(/#.*|$/, `#/sweeps/${id}`));
  const step = page.getByRole("table", { name: "Runs" }).locator('[data-col="step"]');
  const shown = async () => Number(await step.first().textContent());
  await expect.poll(shown, { timeout: 30_000 }).toBeGreaterThan(0);
  const before = await shown();
  await expect.poll(shown, { timeout: 5_000 }).toBeGreaterThan(before);
  await lab.normlab("cancel", id);
  await expect(page.getByRole("table", { name: "Runs" })).toContainText("cancelled");
});

test("a diverged run is a gap with a marker, and says so", async ({ page, lab }) => {
  // Without any norm a thousandfold step overflows within a few steps; the run goes on through it.
  const yaml = `${TINY_BASE.replace("lr: 0.003", "lr: 1000, steps: 12")}  norm: {placement: rezero}
stop: {nonfinite: false}
`;
  const id = await lab.submit("diverging", yaml, true);
  const { runs } = await lab.json<{ runs: { id: string; first_nonfinite_step: number }[] }>(
    "runs",
    id,
  );
  const run = runs[0]!;
  await signIn(page, lab);
  await page.goto(page.url().replace(/#.*|$/, `#/sweeps/${id}`));
  const row = page.getByRole("table", { name: "Runs" }).locator(`[data-row="${run.id}"]`);
  await expect(row).toContainText("diverged");
  await expect(row.locator('[data-col="first_nonfinite_step"]')).toHaveText(
    String(run.first_nonfinite_step),
  );
  const figure = page.getByRole("figure", { name: "Train loss" });
  await expect(figure.locator(".badge.bad")).toContainText("non-finite");
});

test("nothing is asked of any other host, and a stranger is told how to get in", async ({
  page,
  lab,
}) => {
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).hostname));
  await signIn(page, lab);
  await page.getByRole("link", { name: "normlab" }).click();
  expect([...hosts]).toEqual(["127.0.0.1"]);
  const address = new URL(page.url());
  await page.context().clearCookies();
  const answer = await page.request.get(`${address.origin}/api/v1/sweeps`);
  expect(answer.status()).toBe(401);
});

test("light and dark are both there", async ({ page, lab }) => {
  await signIn(page, lab);
  const color = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const button = page.getByTitle("colours: by system, light or dark");
  await button.click();
  await expect(button).toHaveText("light");
  const light = await color();
  await button.click();
  await expect(button).toHaveText("dark");
  expect(await color()).not.toBe(light);
});
