// What the profiles over depth are called, what their depth counts, and what stands together.

export interface ProfileName {
  title: string;
  depth: "sublayer" | "block";
}

interface Group {
  title: string;
  names: Readonly<Record<string, ProfileName>>;
}

const sublayer = (title: string): ProfileName => ({ title, depth: "sublayer" });
const block = (title: string): ProfileName => ({ title, depth: "block" });

// A key of docs/science.md, part 7; what is measured by matrix type stands without ".TYPE".
const GROUPS: readonly Group[] = [
  {
    title: "Hidden state",
    names: {
      hidden_ma: sublayer("Mean |x| over depth"),
      hidden_var: sublayer("Variance over depth"),
      hidden_rms: sublayer("Root mean square over depth"),
      hidden_max: sublayer("Largest |x| over depth"),
      var_data: sublayer("Variance over tokens and samples"),
      log_growth: block("Log growth of mean |x| per block"),
    },
  },
  {
    title: "Branches and angles",
    names: {
      branch_rms: sublayer("Size of the branch"),
      branch_rms_out: sublayer("Size of the branch after its norm"),
      branch_share: sublayer("Branch as a share of the stream"),
      angle: sublayer("Angle before and after each sublayer"),
      angle_p95: sublayer("Angle, 95th percentile"),
      angle_max: sublayer("Largest angle"),
      theta_raw: sublayer("Angle before clamp and retraction"),
      theta_over_half_pi: sublayer("Share of tokens turned beyond π/2"),
      theta_over_pi: sublayer("Share of tokens turned beyond π"),
      tangential: sublayer("Tangential share of the branch"),
      tangential_c: sublayer("Branch along the stream"),
      sensitivity: sublayer("Largest singular value of the branch's Jacobian"),
    },
  },
  {
    title: "Peri-LN bounds",
    names: {
      gain_max: sublayer("Largest gain of the output norms so far"),
      peri_ma_bound: sublayer("Bound on mean |x|"),
      peri_ma_tightness: sublayer("Mean |x| as a share of its bound"),
      peri_var_bound: sublayer("Bound on the variance"),
      peri_var_tightness: sublayer("Variance as a share of its bound"),
    },
  },
  {
    title: "Attention",
    names: {
      attention_max: block("Largest attention logit"),
      attention_entropy: block("Attention entropy, nats"),
      attention_log_z: block("Attention log Z"),
    },
  },
  {
    title: "Gradients and updates",
    names: {
      stream_grad: block("Gradient of the stream"),
      param_grad_rms: block("Gradient per entry"),
      param_update: block("Update relative to the weights"),
      adam_rms: block("Adam update per entry"),
      adam_below_eps: block("Share of entries below Adam's eps"),
    },
  },
];

function split(key: string): [string, string] {
  const dot = key.indexOf(".");
  return dot < 0 ? [key, ""] : [key.slice(0, dot), key.slice(dot + 1)];
}

// "Gradient per entry, attn.qkv". A key that is not known here is its own title.
export function profileName(key: string): ProfileName {
  const [base, matrix] = split(key);
  const found = GROUPS.map((group) => group.names[base]).find((name) => name !== undefined);
  if (found === undefined) return { title: key, depth: "sublayer" };
  return matrix === "" ? found : { ...found, title: `${found.title}, ${matrix}` };
}

export interface ProfileGroup {
  title: string;
  keys: string[];
}

// The groups that a run has, each in its own order; unknown keys come last, as "Other profiles".
export function groupProfiles(keys: readonly string[]): ProfileGroup[] {
  const place = (group: Group, key: string) => Object.keys(group.names).indexOf(split(key)[0]);
  const known = GROUPS.map((group) => ({
    title: group.title,
    keys: keys
      .filter((key) => place(group, key) >= 0)
      .sort((a, b) => place(group, a) - place(group, b)),
  }));
  const placed = new Set(known.flatMap((group) => group.keys));
  const others = { title: "Other profiles", keys: keys.filter((key) => !placed.has(key)) };
  return [...known, others].filter((group) => group.keys.length > 0);
}
