// A real server with real workers in a folder of its own, driven by the real command line.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test as base } from "@playwright/test";

const run = promisify(execFile);
const bin =
  process.env.NORMLAB_BIN ??
  join(dirname(fileURLToPath(import.meta.url)), "../../build/release/bin");

export class Lab {
  private constructor(
    readonly dir: string,
    private readonly server: ChildProcess,
  ) {}

  static async start(): Promise<Lab> {
    const dir = await mkdtemp(join(tmpdir(), "normlab-web-"));
    const args = ["serve", "--data", dir, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    const server = spawn(join(bin, "normlab"), [...args, "--local-workers", "1"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    // The server says on standard output where it listens: then it is ready.
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: server.stdout! }).once("line", () => resolve());
      server.once("exit", (code) => reject(new Error(`normlab serve ended with ${code}`)));
    });
    const lab = new Lab(dir, server);
    await writeFile(join(dir, "text.txt"), sampleText());
    await lab.normlab("data", "prepare", "tiny", join(dir, "text.txt"));
    return lab;
  }

  async normlab(...args: string[]): Promise<string> {
    const [verb, ...rest] = args;
    const at = verb === "data" ? [verb, rest.shift() as string] : [verb as string];
    const { stdout } = await run(join(bin, "normlab"), [...at, "--data", this.dir, ...rest]);
    return stdout.trim();
  }

  async json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.normlab(...args, "--json")) as T;
  }

  // Submits a sweep and gives its id; with `wait`, when it has ended.
  async submit(name: string, yaml: string, wait: boolean): Promise<string> {
    const file = join(this.dir, `${name}.yaml`);
    await writeFile(file, `name: ${name}\n${yaml}`);
    const extra = wait ? ["--wait"] : [];
    const document = await this.json<{ sweep: string }>("submit", file, ...extra);
    return document.sweep;
  }

  async stop() {
    const ended = new Promise((resolve) => this.server.once("exit", resolve));
    this.server.kill("SIGTERM");
    await ended;
    await rm(this.dir, { recursive: true, force: true });
  }
}

// Text with some structure, so that a loss falls: about 60 kB.
function sampleText(): string {
  const words = ["norm", "layer", "depth", "step", "angle", "sphere", "loss", "seed"];
  let state = 1;
  let text = "";
  for (let index = 0; index < 10_000; index += 1) {
    state = (state * 48271) % 2147483647;
    text += `${words[state % words.length]} `;
  }
  return text;
}

// One lab for all tests of a file.
export const test = base.extend<object, { lab: Lab }>({
  lab: [
    async ({}, use) => {
      const lab = await Lab.start();
      await use(lab);
      await lab.stop();
    },
    { scope: "worker" },
  ],
});

export const TINY_BASE = `base:
  model: {layers: 2, width: 32, heads: 2, seq_len: 32}
  data: {name: tiny}
  train: {batch: 4, lr: 0.003}
  eval: {every: 10, batches: 2}
`;
