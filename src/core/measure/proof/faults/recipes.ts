import type { CompleteRecipe } from '../../../plan/complete-recipe.js';
import type { Evidence } from '../evidence.js';
import { counted, type FaultKind, fault, finding } from './kind.js';

// Faults found by changing one setting of the recipe. The changed recipe is planned and its tensors are
// compared with the output's.

type Variants = (recipe: CompleteRecipe) => readonly (readonly [words: string, recipe: CompleteRecipe])[];

const few = 4;

const byRecipe = (kind: string, variants: Variants): FaultKind =>
  fault(kind, async (evidence, names) => {
    // Skips tensors with a few differing elements, which need no other recipe.
    const samples = (await evidence.sampled(names)).filter(
      (sample) => !evidence.fitsSample(sample, sample.wanted),
    );
    if (samples.length === 0) return undefined;
    for (const [words, recipe] of variants(evidence.recipe)) {
      const other = await evidence.replan(recipe);
      if (other === undefined) continue;
      const fitting = await fittingIn(
        evidence,
        samples.map(({ name }) => name),
        other,
      );
      if (fitting.length < Math.max(1, samples.length * 0.9) || !(await evidence.fitsRight(other))) continue;
      return finding(fitting, `${counted(fitting.length, 'tensor')} are those of another recipe: ${words}`, {
        instead: words,
      });
    }
    return undefined;
  });

type Tensors = NonNullable<Awaited<ReturnType<Evidence['replan']>>>;

const fittingIn = async (evidence: Evidence, names: readonly string[], other: Tensors): Promise<string[]> => {
  const fitting: string[] = [];
  for (const [index, name] of names.entries()) {
    if (index === few && fitting.length === 0) return [];
    const tensor = other.get(name);
    if (tensor !== undefined && !(await evidence.isOther(name, tensor))) continue;
    if (await evidence.fitsTensor(name, tensor)) fitting.push(name);
  }
  return fitting;
};

const without = (recipe: CompleteRecipe, keys: readonly string[]): CompleteRecipe => ({
  ...Object.fromEntries(Object.entries(recipe).filter(([key]) => !keys.includes(key))),
  ...(Array.isArray(recipe['models'])
    ? {
        models: recipe['models'].map((model: unknown) =>
          typeof model === 'object' && model !== null
            ? Object.fromEntries(Object.entries(model).filter(([key]) => !keys.includes(key)))
            : model,
        ),
      }
    : {}),
});

const has = (recipe: CompleteRecipe, key: string): boolean => JSON.stringify(recipe).includes(`"${key}":`);

export const densityIgnored = byRecipe('density_ignored', (recipe) => {
  if (!has(recipe, 'density')) return [];
  const all = without(recipe, ['density']);
  return [['the density was ignored, and every change kept', { ...all, density: 1 }]];
});

const densities = [0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9];

export const wrongDensity = byRecipe('wrong_density', (recipe) =>
  has(recipe, 'density')
    ? densities.map((density) => [`the density is ${density}`, { ...without(recipe, ['density']), density }])
    : [],
);

export const lambdaIgnored = byRecipe('lambda_ignored', (recipe) =>
  ['lambda', 'scale'].flatMap((key) =>
    typeof recipe[key] === 'number' && recipe[key] !== 1
      ? [[`${key} ${recipe[key]} was ignored`, { ...recipe, [key]: 1 }] as const]
      : [],
  ),
);

export const normalizeToggled = byRecipe('normalize_toggled', (recipe) =>
  [true, false].map((normalize) => [
    `the weights were ${normalize ? '' : 'not '}normalised`,
    { ...recipe, normalize },
  ]),
);

export const interpolationReversed = byRecipe('interpolation_reversed', (recipe) => {
  const { t, models } = recipe;
  const reversed = typeof t === 'number' ? { ...recipe, t: 1 - t } : undefined;
  const inOtherOrder =
    Array.isArray(models) && models.length === 2 ? { ...recipe, models: models.toReversed() } : undefined;
  return [
    ...(reversed === undefined ? [] : [[`t is ${1 - Number(t)} instead of ${Number(t)}`, reversed] as const]),
    ...(inOtherOrder === undefined ? [] : [['the two models are in the other order', inOtherOrder] as const]),
  ];
});

export const transitionIgnored = byRecipe('transition_ignored', (recipe) =>
  has(recipe, 'bottomTransition')
    ? [
        [
          'the transitions between the experts were left out',
          { ...recipe, bottomTransition: 0, topTransition: 0 },
        ],
      ]
    : [],
);

export const othersOtherwise = byRecipe('others_otherwise', (recipe) =>
  recipe['task'] === undefined
    ? []
    : (['average', 'task', 'language'] as const)
        .filter((others) => others !== recipe['others'])
        .map((others) => [
          `tensors outside the layers are taken by others: ${others}`,
          { ...recipe, others },
        ]),
);

export const boundaryShifted = byRecipe('boundary_shifted', (recipe) => {
  const { bottom, top } = recipe;
  if (typeof bottom !== 'number' || typeof top !== 'number') return [];
  return [-1, 0, 1].flatMap((more) =>
    [-1, 0, 1].flatMap((above) =>
      (more === 0 && above === 0) || bottom + more < 0 || top + above < 0
        ? []
        : [
            [
              `bottom ${bottom + more} and top ${top + above} instead of ${bottom} and ${top}`,
              { ...recipe, bottom: bottom + more, top: top + above },
            ] as const,
          ],
    ),
  );
});

const ofVectors = [
  'task_arithmetic',
  'ties',
  'dare_linear',
  'dare_ties',
  'breadcrumbs',
  'sce',
  'linear',
] as const;

export const otherMethod = byRecipe('other_method', (recipe) =>
  recipe['models'] === undefined
    ? []
    : [...ofVectors, 'slerp', 'model_stock', 'karcher']
        .filter((method) => method !== recipe['method'])
        .map((method) => [
          `the method ${method} instead of ${String(recipe['method'])}`,
          { ...recipe, method },
        ]),
);
