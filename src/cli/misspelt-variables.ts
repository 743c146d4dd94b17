import { nearest } from '../core/base/nearest.js';

const prefix = 'LAYERLOOM_';

const own = ['ADDON', 'CACHE', 'ISA'];

const meantBy = (name: string): string | undefined => {
  if (!name.startsWith(prefix))
    return nearest(
      name,
      own.map((one) => prefix + one),
    )?.slice(prefix.length);
  const rest = name.slice(prefix.length);
  return nearest(rest, own) ?? own.find((one) => rest.startsWith(`${one}_`));
};

/** Returns warnings of variables named almost like ours, which would be silently ignored. */
export const misspeltVariables = (env: NodeJS.ProcessEnv): string[] =>
  Object.keys(env).flatMap((name) => {
    if (!/^LAYER/i.test(name) || (name.startsWith(prefix) && own.includes(name.slice(prefix.length))))
      return [];
    if (/^LAYERLOOM_(NUM_)?THREADS?$/i.test(name))
      return [`the environment variable ${name} is ignored; --threads sets the number of threads`];
    const meant = meantBy(name);
    return meant === undefined
      ? []
      : [`the environment variable ${name} is ignored; did you mean ${prefix}${meant}?`];
  });
