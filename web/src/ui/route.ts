export type Route =
  { page: "sweeps" } | { page: "sweep"; id: string } | { page: "run"; id: string };

// "#/sweeps/s3" and "#/runs/r37"; anything else is the list of sweeps.
export function parseRoute(hash: string): Route {
  const [, page, id] = hash.replace(/^#/, "").split("/");
  if (page === "sweeps" && id) return { page: "sweep", id: decodeURIComponent(id) };
  if (page === "runs" && id) return { page: "run", id: decodeURIComponent(id) };
  return { page: "sweeps" };
}
