import { createContext } from "preact";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";
import { getDocument } from "./api";
import type { Change, Live } from "./live";
import { appendExact, curveOfPicture, emptyCurve, type Curve } from "./series";
import type { ExactScalars, PictureScalars, Profiles, Run } from "./types";

export const LiveContext = createContext<Live | null>(null);

export interface Loaded<T> {
  value: T | null;
  error: string | null;
}

// A document that is read again whenever `concerns` says that a change is about it. While a new
// answer is on its way the old one stays. At most one request at a time.
export function useDocument<T>(path: string, concerns: (change: Change) => boolean): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ value: null, error: null });
  const load = useCallback(
    async (signal: AbortSignal) => {
      try {
        const value = await getDocument<T>(path, signal);
        setLoaded({ value, error: null });
      } catch (error) {
        if (!signal.aborted)
          setLoaded((old) => ({ value: old.value, error: String((error as Error).message) }));
      }
    },
    [path],
  );
  useReload(load, concerns);
  return loaded;
}

// Calls `load` now and after each change that concerns it; changes that arrive during a call lead
// to one more.
function useReload(
  load: (signal: AbortSignal) => Promise<void>,
  concerns: (change: Change) => boolean,
) {
  const live = useContext(LiveContext);
  const latest = useRef(concerns);
  latest.current = concerns;
  useEffect(() => {
    const abort = new AbortController();
    let busy = false;
    let again = false;
    const run = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      do {
        again = false;
        await load(abort.signal);
      } while (again && !abort.signal.aborted);
      busy = false;
    };
    void run();
    const stop = live?.onChange((change) => {
      if (change.everything || latest.current(change)) void run();
    });
    return () => {
      abort.abort();
      stop?.();
    };
  }, [load, live]);
}

// A longer run is drawn from pictures (each bucket's extremes), which the server computes.
const EXACT_STEPS_MAX = 4000;
const PICTURE_POINTS = 1000;

interface Kept {
  attempt: number;
  curve: Curve;
}

// One curve per run, kept up to date: only new points of short runs are fetched.
export function useCurves(runs: readonly Run[], key: string): ReadonlyMap<string, Curve> {
  const [curves, setCurves] = useState<ReadonlyMap<string, Curve>>(new Map());
  const store = useRef(new Map<string, Kept>());
  const ids = runs.map((run) => `${run.id}/${run.attempt}`).join(",");
  const load = useCallback(
    async (signal: AbortSignal) => {
      await Promise.all(
        runs.map(async (run) => {
          const kept = store.current.get(run.id);
          // A new attempt may start before the end of the old one: its line is read from scratch.
          const had = kept?.attempt === run.attempt ? kept.curve : emptyCurve();
          const curve = await fetchCurve(run, key, had, signal).catch(() => had);
          store.current.set(run.id, { attempt: run.attempt, curve });
        }),
      );
      if (signal.aborted) return;
      setCurves(new Map([...store.current].map(([id, kept]) => [id, kept.curve])));
    },
    // `runs` is a new array after every reload; the ids say whether it is about the same runs.
    [ids, key],
  );
  useEffect(() => {
    store.current = new Map();
  }, [key]);
  const wanted = new Set<string>(runs.map((run) => run.id));
  useReload(load, (change) => [...change.runs].some((id) => wanted.has(id)));
  return curves;
}

async function fetchCurve(run: Run, key: string, had: Curve, signal: AbortSignal): Promise<Curve> {
  const base = `runs/${run.id}/scalars?key=${key}`;
  if (run.steps > EXACT_STEPS_MAX) {
    return curveOfPicture(
      await getDocument<PictureScalars>(`${base}&points=${PICTURE_POINTS}`, signal),
    );
  }
  const from = had.step[had.step.length - 1] ?? 0;
  return appendExact(had, await getDocument<ExactScalars>(`${base}&from=${from}`, signal));
}

// The newest profile of each run.
export function useProfiles(runs: readonly Run[], key: string): ReadonlyMap<string, Profiles> {
  const [profiles, setProfiles] = useState<ReadonlyMap<string, Profiles>>(new Map());
  const ids = runs.map((run) => run.id).join(",");
  const load = useCallback(
    async (signal: AbortSignal) => {
      const found = await Promise.all(
        runs.map(async (run) => {
          const path = `runs/${run.id}/profiles?key=${key}&step=last`;
          return [run.id, await getDocument<Profiles>(path, signal).catch(() => null)] as const;
        }),
      );
      if (signal.aborted) return;
      setProfiles(
        new Map(found.filter((entry): entry is [(typeof entry)[0], Profiles] => entry[1] !== null)),
      );
    },
    [ids, key],
  );
  const wanted = new Set<string>(runs.map((run) => run.id));
  useReload(load, (change) => [...change.runs].some((id) => wanted.has(id)));
  return profiles;
}
