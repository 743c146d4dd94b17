import * as z from 'zod';
import type { HubRevision, Origin } from './found-model.js';

const text = z.string();

const hub = z.strictObject({
  id: text,
  revision: text,
  inside: text.exactOptional(),
}) satisfies z.ZodType<HubRevision>;

type Shape = Record<keyof Origin, z.ZodType>;

/** The keys by which plans keep the origin of a model, each of one source. */
export const originShape = { hub: hub.exactOptional() } satisfies Shape;

/** The same in records, of which keys that are not known are left out. */
export const recordedOriginShape = { hub: hub.strip().exactOptional() } satisfies Shape;
