import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";

const KEY = "normlab-theme";
const query = () => window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

export function currentTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(theme: Theme) {
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  document.documentElement.dataset.theme = theme;
  for (const listener of listeners) listener();
}

function isDark(): boolean {
  const theme = currentTheme();
  return theme === "dark" || (theme === "system" && query().matches);
}

// True while the page is dark, by choice or by the system's.
export function useDark(): boolean {
  const [dark, setDark] = useState(isDark);
  useEffect(() => {
    const update = () => setDark(isDark());
    const media = query();
    media.addEventListener("change", update);
    listeners.add(update);
    return () => {
      media.removeEventListener("change", update);
      listeners.delete(update);
    };
  }, []);
  return dark;
}
