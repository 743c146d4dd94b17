import * as z from 'zod';
import { parseAddress } from '../../requests/session/server-address.js';

// The hub's library trusts the server's answers, so they are checked before the library sees them.

const size = z.int().nonnegative();

const address = z.string().refine((text) => parseAddress(text) !== undefined, 'is no address of a server');

const header = z.record(z.string(), z.union([z.string(), z.number()]).transform(String));

/** Maximum size of a file in a commit, which memory holds in base64. The hub accepts 10 MB. */
const mostInCommit = 64 * 1024 * 1024;

const preuploadAsked = z.object({ files: z.array(z.object({ path: z.string(), size })) });
const preupload = z.object({
  files: z.array(z.object({ path: z.string(), uploadMode: z.enum(['lfs', 'regular']) })),
});

const checkPreupload = (value: unknown, asked: unknown): unknown => {
  const modes = new Map(preupload.parse(value).files.map(({ path, uploadMode }) => [path, uploadMode]));
  const files = preuploadAsked.parse(asked).files.map(({ path, size }) => {
    const uploadMode = modes.get(path);
    if (uploadMode === undefined) throw new Error(`nothing about ${path}`);
    if (uploadMode === 'regular' && size > mostInCommit)
      throw new Error(`${path} of ${size} bytes is to be sent within a commit`);
    return { path, uploadMode };
  });
  return { files };
};

const batchAsked = z.object({ objects: z.array(z.object({ oid: z.string(), size })) });
const batch = z.object({
  transfer: z.string().nullish(),
  objects: z.array(
    z.object({
      oid: z.string(),
      error: z.object({ code: z.int(), message: z.string() }).nullish(),
      actions: z
        .object({ upload: z.object({ href: address, header: header.nullish() }).nullish() })
        .nullish(),
    }),
  ),
});

const checkParts = (given: Readonly<Record<string, string>>, bytes: number): Record<string, string> => {
  const { chunk_size: chunkSize, ...others } = given;
  if (chunkSize === undefined) return given;
  const partBytes = Number(chunkSize);
  if (!/^\d+$/.test(chunkSize) || !Number.isSafeInteger(partBytes) || partBytes === 0)
    throw new Error(`parts of ${chunkSize} bytes`);
  const numbered = Object.entries(others).filter(([name]) => /^\d+$/.test(name));
  const parts = numbered.sort(([a], [b]) => Number(a) - Number(b));
  const wanted = Math.ceil(bytes / partBytes);
  if (parts.length !== wanted || parts.some(([name], index) => Number(name) !== index + 1))
    throw new Error(`${parts.length} parts of ${partBytes} bytes for a file of ${bytes}`);
  // The library sorts addresses by these names, integer-like ones first: `10000` would precede `00001`. With
  // six digits the order is right.
  const addresses = parts.map(([, href], index) => [String(index + 1).padStart(6, '0'), address.parse(href)]);
  return { chunk_size: chunkSize, ...Object.fromEntries(addresses) };
};

const checkBatch = (value: unknown, asked: unknown): unknown => {
  const { transfer, objects } = batch.parse(value);
  const rest = new Map(batchAsked.parse(asked).objects.map(({ oid, size }) => [oid, size]));
  const checked = objects.map(({ oid, error, actions }) => {
    const bytes = rest.get(oid);
    if (bytes === undefined) throw new Error(`${oid} was not asked for`);
    rest.delete(oid);
    const upload = actions?.upload;
    const given = transfer === 'xet' ? upload?.header : checkParts(upload?.header ?? {}, bytes);
    return {
      oid,
      size: bytes,
      ...(error ? { error } : {}),
      ...(upload ? { actions: { upload: { href: upload.href, header: given ?? {} } } } : {}),
    };
  });
  for (const [oid] of rest) throw new Error(`nothing about ${oid}`);
  // The library reports a refused file, but may lose the refusal among other files.
  const refused = checked.find(({ error }) => error !== undefined);
  return { ...(transfer ? { transfer } : {}), objects: refused === undefined ? checked : [refused] };
};

const orNothing = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

const pathsInfo = z.array(
  z.object({
    path: z.string(),
    type: z.string(),
    size,
    oid: orNothing(z.string()),
    lfs: orNothing(z.object({ oid: z.string(), size })),
    xetHash: orNothing(z.string()),
  }),
);

const commit = z.looseObject({ commitOid: z.string().regex(/^[0-9a-f]{40,64}$/, 'is no commit') });

const writeToken = z.object({ accessToken: z.string(), casUrl: address, exp: z.number() });

type Check = (value: unknown, asked: unknown) => unknown;

const parsedBy =
  (schema: z.ZodType): Check =>
  (value) =>
    schema.parse(value);

const ofModel = (rest: string): RegExp => new RegExp(`^/api/models/[^/]+/[^/]+/${rest}`);

/** Checks of answers by path; answers for other paths pass unchecked. */
const checks: readonly (readonly [RegExp, Check])[] = [
  [ofModel('preupload/'), checkPreupload],
  [/\.git\/info\/lfs\/objects\/batch$/, checkBatch],
  [ofModel('commit/'), parsedBy(commit)],
  [ofModel('paths-info/'), parsedBy(pathsInfo)],
  [ofModel('xet-write-token'), parsedBy(writeToken)],
  [/^\/api\/repos\/create$/, parsedBy(z.looseObject({}))],
];

const reasonIn = (error: unknown): string => {
  if (!(error instanceof z.ZodError)) return error instanceof Error ? error.message : String(error);
  const [issue] = error.issues;
  return [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
};

/**
 * Checks an answer to a request of the hub's library.
 *
 * @returns the part of the answer that the library may see, or a text about the fault
 */
export const checkAnswer = (
  path: string,
  value: unknown,
  asked: unknown,
): { readonly checked: unknown } | { readonly wrong: string } => {
  const check = checks.find(([pattern]) => pattern.test(path))?.[1];
  try {
    return { checked: check === undefined ? value : check(value, asked) };
  } catch (error) {
    return { wrong: reasonIn(error) };
  }
};
