export interface UncheckedRecipe {
  readonly method: string;
  readonly [parameter: string]: unknown;
}

export const isUncheckedRecipe = (value: unknown): value is UncheckedRecipe =>
  typeof value === 'object' && value !== null && 'method' in value && typeof value.method === 'string';
