import { useMemo, useState } from "preact/hooks";
import { Figure } from "../chart/figure";
import { strokeOf } from "../chart/palette";
import { useDocument } from "../data/hooks";
import type { Profiles, RunDetail } from "../data/types";
import { useDark } from "../ui/theme";
import { profileCurve } from "./curves";
import { groupProfiles, profileName, type ProfileGroup } from "./profile_names";

// The first group, the hidden state, is shown; a run has some forty profiles, and the others are
// fetched when somebody opens them.
export function ProfileCharts({ run }: { run: RunDetail }) {
  return (
    <>
      {groupProfiles(run.profile_keys).map((group, index) =>
        index === 0 ? (
          <ProfileFigures key={group.title} run={run} keys={group.keys} />
        ) : (
          <FoldedGroup key={group.title} run={run} group={group} />
        ),
      )}
    </>
  );
}

function FoldedGroup({ run, group }: { run: RunDetail; group: ProfileGroup }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
      <summary>{group.title}</summary>
      {open && <ProfileFigures run={run} keys={group.keys} />}
    </details>
  );
}

function ProfileFigures({ run, keys }: { run: RunDetail; keys: readonly string[] }) {
  return (
    <div class="figures">
      {keys.map((key) => (
        <ProfileChart key={key} run={run} profileKey={key} />
      ))}
    </div>
  );
}

// One profile over depth, at a step that the reader picks; first and newest are shown
// until then.
function ProfileChart({ run, profileKey }: { run: RunDetail; profileKey: string }) {
  const { value } = useDocument<Profiles>(`runs/${run.id}/profiles?key=${profileKey}`, (change) =>
    change.runs.has(run.id),
  );
  const name = profileName(profileKey);
  const [picked, setPicked] = useState<number | null>(null);
  const dark = useDark();
  const steps = value?.step ?? [];
  const newest = steps.length - 1;
  const index = picked === null ? newest : Math.min(picked, newest);
  const curves = useMemo(() => {
    if (value === null || newest < 0) return [];
    const shown = index > 0 ? [0, index] : [0];
    return shown.map((at, order) => ({
      name: `step ${value.step[at]}`,
      curve: profileCurve(value, at),
      stroke: strokeOf(order === shown.length - 1 ? 0 : 6, dark),
      points: true,
    }));
  }, [value, index, newest, dark]);
  if (newest < 0) return null;
  return (
    <div>
      <Figure title={name.title} note={profileKey} xLabel={name.depth} curves={curves} />
      {newest > 0 && (
        <label class="slider">
          <span class="soft">step {steps[index]}</span>
          <input
            type="range"
            min={0}
            max={newest}
            value={index}
            aria-label={`${profileKey} step`}
            onInput={(event) => setPicked(Number((event.target as HTMLInputElement).value))}
          />
        </label>
      )}
    </div>
  );
}
