import type { Numeric } from "./types";

// The number behind a document's value; NaN and infinities come back as themselves.
export function toNumber(value: Numeric): number {
  if (typeof value === "number") return value;
  return value === "nan" ? NaN : value === "inf" ? Infinity : -Infinity;
}

// A value of a table cell for people: `digits` significant digits, "–" when there is none.
export function formatNumber(value: Numeric | null | undefined, digits = 4): string {
  if (value === null || value === undefined) return "–";
  const number = toNumber(value);
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "+∞" : "−∞";
  if (Number.isInteger(number) && Math.abs(number) < 1e7) return String(number);
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return number.toExponential(digits - 1);
  // toPrecision would turn 10500.3 into 1.050e+4.
  return size >= 10 ** digits ? String(Math.round(number)) : number.toPrecision(digits);
}

export function formatSigned(value: Numeric | null, digits = 3): string {
  if (value === null) return "–";
  const number = toNumber(value);
  const text = Number.isFinite(number) ? Math.abs(number).toFixed(digits) : formatNumber(value);
  return number < 0 ? `−${text}` : `+${text}`;
}

export function formatDuration(seconds: number | null): string {
  if (seconds === null) return "–";
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function formatBytes(bytes: number | null): string {
  if (bytes === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${size.toPrecision(3)} ${units[unit]}`;
}

// "2026-01-31 12:34" in the reader's own time zone.
export function formatTime(iso: string | null): string {
  if (iso === null) return "–";
  const time = new Date(iso);
  const two = (part: number) => String(part).padStart(2, "0");
  return (
    `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ` +
    `${two(time.getHours())}:${two(time.getMinutes())}`
  );
}
