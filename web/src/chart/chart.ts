import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatNumber } from "../data/numbers";
import { align, finiteRange, type Curve } from "../data/series";
import type { Stroke } from "./palette";

// The one place that knows uPlot. A chart draws curves over a shared x axis; what is not finite is
// a gap in the line and a marker on the edge of the plot, never a bridge.

export interface ChartCurve {
  name: string;
  curve: Curve;
  stroke: Stroke;
  faint?: boolean; // one of several seeds behind their mean
  points?: boolean; // few points: dots as well as the line
}

export interface ChartOptions {
  xLabel: string;
  logY: boolean;
  logX: boolean;
  height: number;
  // The x under the pointer and the value of each curve there; null when the pointer leaves.
  onHover: (hover: Hover | null) => void;
}

export interface Hover {
  x: number;
  values: (number | null)[];
}

const MARKER_SIZE = 5;

export class Chart {
  private plot: uPlot | null = null;
  private curves: readonly ChartCurve[] = [];
  private shape = "";

  constructor(
    private readonly host: HTMLElement,
    private readonly options: ChartOptions,
  ) {}

  // Draws `curves`. The plot is built anew only when their names or colours change, so that zoom
  // and pointer survive new points.
  draw(curves: readonly ChartCurve[]) {
    this.curves = curves;
    const shape = JSON.stringify(curves.map((c) => [c.name, c.stroke, c.faint, c.points]));
    const data = align(curves.map((c) => c.curve)) as uPlot.AlignedData;
    if (this.plot !== null && shape === this.shape) {
      this.plot.setData(data, this.isUnzoomed());
      return;
    }
    this.plot?.destroy();
    this.shape = shape;
    this.plot = new uPlot(this.plotOptions(), data, this.host);
  }

  resize() {
    this.plot?.setSize({ width: this.width(), height: this.options.height });
  }

  destroy() {
    this.plot?.destroy();
    this.plot = null;
  }

  private width(): number {
    return Math.max(240, this.host.clientWidth);
  }

  private isUnzoomed(): boolean {
    const plot = this.plot;
    const steps = plot?.data[0];
    if (!plot || !steps || steps.length === 0) return true;
    const { min, max } = plot.scales.x ?? {};
    if (min === undefined || max === undefined) return true;
    return min <= (steps[0] as number) && max >= (steps[steps.length - 1] as number);
  }

  private plotOptions(): uPlot.Options {
    const style = getComputedStyle(this.host);
    const ink = style.color;
    const grid = style.borderTopColor;
    const axis: uPlot.Axis = {
      stroke: ink,
      grid: { stroke: grid, width: 1 },
      ticks: { stroke: grid, width: 1 },
      font: `12px ${style.fontFamily}`,
      labelFont: `12px ${style.fontFamily}`,
    };
    return {
      width: this.width(),
      height: this.options.height,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false } },
      scales: {
        x: { time: false, distr: this.options.logX ? 3 : 1 },
        y: {
          distr: this.options.logY ? 3 : 1,
          range: (_plot, low, high) => this.yRange(low, high),
        },
      },
      axes: [
        { ...axis, label: this.options.xLabel, labelSize: 20, size: 36 },
        {
          ...axis,
          size: 58,
          values: (_plot, ticks) => ticks.map((t) => (t === null ? "" : formatNumber(t, 3))),
        },
      ],
      series: [{}, ...this.curves.map((curve) => this.seriesOptions(curve))],
      hooks: {
        draw: [(plot) => this.drawMarkers(plot)],
        setCursor: [(plot) => this.hover(plot)],
      },
    };
  }

  private seriesOptions(curve: ChartCurve): uPlot.Series {
    const series: uPlot.Series = {
      label: curve.name,
      stroke: curve.stroke.color,
      width: curve.faint ? 1 : 1.5,
      alpha: curve.faint ? 0.4 : 1,
      spanGaps: false,
      points: { show: curve.points === true, size: 5, fill: curve.stroke.color },
    };
    if (curve.stroke.dash) series.dash = curve.stroke.dash;
    return series;
  }

  // Over finite values only: one infinity must not flatten everything else.
  private yRange(low: number | null, high: number | null): [number, number] {
    const found =
      low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)
        ? finiteRange(
            this.curves.map((c) => c.curve),
            this.options.logY,
          )
        : ([low, high] as [number, number]);
    if (found === null) return this.options.logY ? [0.1, 10] : [0, 1];
    const [from, to] = found;
    if (this.options.logY) {
      const floor =
        from > 0
          ? from
          : (finiteRange(
              this.curves.map((c) => c.curve),
              true,
            )?.[0] ?? 0.1);
      return [floor / 1.1, Math.max(to, floor) * 1.1];
    }
    const room = to > from ? (to - from) * 0.05 : Math.max(Math.abs(to) * 0.05, 1e-3);
    return [from - room, to + room];
  }

  // ▲ +∞ and ✕ NaN on the upper edge, ▼ −∞ on the lower, ◆ a bucket with any of them.
  private drawMarkers(plot: uPlot) {
    const { ctx, bbox } = plot;
    const size = MARKER_SIZE * devicePixelRatio;
    ctx.save();
    for (const { curve, stroke } of this.curves) {
      ctx.strokeStyle = stroke.color;
      ctx.fillStyle = stroke.color;
      ctx.lineWidth = 1.5 * devicePixelRatio;
      for (const place of curve.nonFinite) {
        const x = plot.valToPos(place.step, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        const below = place.kind === "-inf";
        const y = below ? bbox.top + bbox.height - size : bbox.top + size;
        ctx.beginPath();
        if (place.kind === "nan") cross(ctx, x, y, size);
        else if (place.kind === "mixed") diamond(ctx, x, y, size);
        else triangle(ctx, x, y, below ? -size : size);
        if (place.kind === "nan") ctx.stroke();
        else ctx.fill();
      }
    }
    ctx.restore();
  }

  private hover(plot: uPlot) {
    const index = plot.cursor.idx;
    if (index === null || index === undefined) {
      this.options.onHover(null);
      return;
    }
    const values = this.curves.map((_, i) => plot.data[i + 1]?.[index] ?? null);
    this.options.onHover({ x: plot.data[0][index] as number, values });
  }
}

function cross(ctx: CanvasRenderingContext2D, x: number, y: number, size: number) {
  ctx.moveTo(x - size, y - size);
  ctx.lineTo(x + size, y + size);
  ctx.moveTo(x + size, y - size);
  ctx.lineTo(x - size, y + size);
}

function triangle(ctx: CanvasRenderingContext2D, x: number, y: number, size: number) {
  ctx.moveTo(x, y - size);
  ctx.lineTo(x + Math.abs(size), y + size);
  ctx.lineTo(x - Math.abs(size), y + size);
  ctx.closePath();
}

function diamond(ctx: CanvasRenderingContext2D, x: number, y: number, size: number) {
  ctx.moveTo(x, y - size);
  ctx.lineTo(x + size, y);
  ctx.lineTo(x, y + size);
  ctx.lineTo(x - size, y);
  ctx.closePath();
}
