import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { LiveContext } from "./data/hooks";
import { Live, type LiveState } from "./data/live";
import { RunPage } from "./pages/run";
import { SweepPage } from "./pages/sweep";
import { SweepsPage } from "./pages/sweeps";
import { parseRoute, type Route } from "./ui/route";
import { applyTheme, currentTheme, type Theme } from "./ui/theme";
import "./style.css";
import "./ui/parts.css";
import "./chart/figure.css";

const live = new Live(new EventSource("/api/v1/live"));

function App() {
  const [route, setRoute] = useState<Route>(parseRoute(location.hash));
  useEffect(() => {
    const follow = () => {
      setRoute(parseRoute(location.hash));
      window.scrollTo(0, 0);
    };
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return (
    <LiveContext.Provider value={live}>
      <Header />
      {route.page === "sweep" && <SweepPage key={route.id} id={route.id} />}
      {route.page === "run" && <RunPage key={route.id} id={route.id} />}
      {route.page === "sweeps" && <SweepsPage />}
    </LiveContext.Provider>
  );
}

const LIVE_WORDS: Record<LiveState, string> = {
  connecting: "connecting",
  live: "live",
  lost: "connection lost, trying again",
};

const NEXT_THEME: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function Header() {
  const [state, setState] = useState<LiveState>(live.state);
  const [theme, setTheme] = useState<Theme>(currentTheme());
  useEffect(() => {
    // The stream may have opened between the first drawing and now.
    setState(live.state);
    return live.onState(setState);
  }, []);
  const change = () => {
    applyTheme(NEXT_THEME[theme]);
    setTheme(NEXT_THEME[theme]);
  };
  return (
    <header>
      <a class="brand" href="#/">
        <img src="/icon.svg" alt="" width="22" height="22" /> normlab
      </a>
      <span class={`live live-${state}`} role="status">
        {LIVE_WORDS[state]}
      </span>
      <button
        type="button"
        class="switch"
        onClick={change}
        title="colours: by system, light or dark"
      >
        {theme}
      </button>
    </header>
  );
}

applyTheme(currentTheme());
render(<App />, document.getElementById("app") as HTMLElement);
