// Draws the dashboard's page of one sweep into a PNG file:
//   node web/screenshot.mjs ADDRESS SWEEP FILE [light|dark]
// ADDRESS is what `normlab open` prints.

import { chromium } from "@playwright/test";

const [address, sweep, file, scheme = "light"] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.NORMLAB_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
const page = await browser.newPage({
  viewport: { width: 1280, height: 900 },
  deviceScaleFactor: 1.5,
  colorScheme: scheme,
});
await page.goto(address);
await page.goto(
  `${new URL(page.url()).origin}/#/${sweep.startsWith("r") ? "runs" : "sweeps"}/${sweep}`,
);
await page.locator(".u-over").first().waitFor();
await page.waitForLoadState("load");
await page.locator(".legend li").first().waitFor();
await page.waitForTimeout(1500);
await page.screenshot({ path: file, fullPage: true });
await browser.close();
