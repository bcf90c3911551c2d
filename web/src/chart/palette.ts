// Colours that stay apart for people with colour-blindness (blue, orange, teal, rose, olive,
// violet …, with different lightness), one set per theme. Beyond them, dashes tell arms apart.

const LIGHT = [
  "#2f6db3",
  "#d5781d",
  "#1f8a70",
  "#b8457b",
  "#7a7a2e",
  "#6a51a3",
  "#5b6770",
  "#a0522d",
];
const DARK = [
  "#7fb2ec",
  "#f0a35b",
  "#5cc4a8",
  "#e58ab4",
  "#c2c26a",
  "#b3a0e0",
  "#a9b4bd",
  "#d99a7c",
];
const DASHES: (number[] | undefined)[] = [undefined, [6, 3], [2, 3], [10, 3, 2, 3]];

export interface Stroke {
  color: string;
  dash: number[] | undefined;
}

export function strokeOf(index: number, dark: boolean): Stroke {
  const colors = dark ? DARK : LIGHT;
  return {
    color: colors[index % colors.length] as string,
    dash: DASHES[Math.floor(index / colors.length) % DASHES.length],
  };
}
