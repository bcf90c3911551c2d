import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatNumber } from "../data/numbers";
import { useDark } from "../ui/theme";
import { Chart, type ChartCurve, type Hover } from "./chart";

export interface FigureProps {
  title: string;
  note?: string;
  xLabel: string;
  curves: readonly ChartCurve[];
  logY?: boolean;
  height?: number;
}

// A chart with its title, its switches and a legend that reads values under the pointer.
export function Figure(props: FigureProps) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | null>(null);
  const dark = useDark();
  const [logY, setLogY] = useState(props.logY ?? false);
  const [logX, setLogX] = useState(false);
  const [hover, setHover] = useState<Hover | null>(null);
  const height = props.height ?? 260;

  useEffect(() => {
    if (host.current === null) return undefined;
    const made = new Chart(host.current, {
      xLabel: props.xLabel,
      logY,
      logX,
      height,
      onHover: setHover,
    });
    chart.current = made;
    made.draw(props.curves);
    const observer = new ResizeObserver(() => made.resize());
    observer.observe(host.current);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = null;
    };
    // Curves have an effect of their own, below.
  }, [logY, logX, height, props.xLabel, dark]);

  useEffect(() => chart.current?.draw(props.curves), [props.curves]);

  return (
    <figure class="figure" aria-label={props.title}>
      <figcaption>
        <span class="figure-title">{props.title}</span>
        {props.note && <span class="soft">{props.note}</span>}
        <span class="switches">
          <Switch label="log x" on={logX} toggle={() => setLogX(!logX)} />
          <Switch label="log y" on={logY} toggle={() => setLogY(!logY)} />
        </span>
      </figcaption>
      <div class="plot" ref={host} />
      <Legend curves={props.curves} hover={hover} xLabel={props.xLabel} />
    </figure>
  );
}

function Switch(props: { label: string; on: boolean; toggle: () => void }) {
  return (
    <button type="button" class="switch" aria-pressed={props.on} onClick={props.toggle}>
      {props.label}
    </button>
  );
}

interface LegendEntry {
  name: string;
  color: string;
  dash: boolean;
  indices: number[];
  nonFinite: number;
  last: number | null;
}

function Legend(props: { curves: readonly ChartCurve[]; hover: Hover | null; xLabel: string }) {
  const entries = useMemo(() => legendEntries(props.curves), [props.curves]);
  return (
    <ul class="legend">
      {props.hover && (
        <li class="legend-x">
          {props.xLabel} <b>{formatNumber(props.hover.x)}</b>
        </li>
      )}
      {entries.map((entry) => (
        <li key={entry.name} data-name={entry.name}>
          <i class={entry.dash ? "key dashed" : "key"} style={{ borderColor: entry.color }} />
          {entry.name}{" "}
          <b>{formatNumber(props.hover ? hoverMean(entry, props.hover) : entry.last)}</b>
          {entry.nonFinite > 0 && (
            <span class="badge bad" title="values that are NaN or infinite">
              {entry.nonFinite} non-finite
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function legendEntries(curves: readonly ChartCurve[]): LegendEntry[] {
  const entries = new Map<string, LegendEntry>();
  curves.forEach((item, index) => {
    let entry = entries.get(item.name);
    if (!entry) {
      entry = {
        name: item.name,
        color: item.stroke.color,
        dash: item.stroke.dash !== undefined,
        indices: [],
        nonFinite: 0,
        last: null,
      };
      entries.set(item.name, entry);
    }
    entry.indices.push(index);
    entry.nonFinite += item.curve.nonFinite.length;
  });
  for (const entry of entries.values()) {
    entry.last = mean(
      entry.indices.map((i) => curves[i]?.curve.value.findLast((value) => value !== null) ?? null),
    );
  }
  return [...entries.values()];
}

function hoverMean(entry: LegendEntry, hover: Hover): number | null {
  return mean(entry.indices.map((index) => hover.values[index] ?? null));
}

function mean(values: (number | null)[]): number | null {
  const finite = values.filter((value): value is number => value !== null);
  if (finite.length === 0) return null;
  return finite.reduce((sum, value) => sum + value, 0) / finite.length;
}
