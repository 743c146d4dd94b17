// @ts-check
// Bugs that simulation must find; `plant.mjs` plants them in copies of the compiled program.

/**
 * A bug: a text in a file of `dist`, and its replacement.
 *
 * @typedef {object} Bug
 * @property {string} name
 * @property {string} file
 * @property {string} text
 * @property {string} instead
 * @property {boolean} [power] true if only power cuts find it
 * @property {string} [workload] the workload or scenario that it affects; default: all
 * @property {boolean} [schedules] true if only several processes find it
 */

/** @type {readonly Bug[]} */
export const bugs = [
  {
    name: 'the directory of an output is not synced behind its renaming',
    file: 'core/engine/output/staging.js',
    text: 'await syncDirectory(parent);',
    instead: '',
    power: true,
  },
  {
    name: 'a file is renamed into place before it is synced',
    file: 'core/engine/output/durable.js',
    text: 'await file.sync();',
    instead: '',
    power: true,
  },
  {
    name: 'a shard of a store is renamed before it is synced',
    file: 'study/store/claims/claim.js',
    text: 'await file.sync();',
    instead: '',
    power: true,
  },
  {
    name: 'a record of a shard is placed before the name of the shard is durable',
    file: 'study/store/claims/claim.js',
    text: 'await syncDirectory(directory);',
    instead: '',
    power: true,
    workload: 'batch',
  },
  {
    name: 'the journal says that bytes are durable which were not synced',
    file: 'core/engine/output/journal.js',
    text: 'await shard.file.datasync();',
    instead: '',
    power: true,
  },
  {
    name: 'a claim is lost: it is given up without being removed',
    file: 'study/store/claims/claim-file.js',
    text: 'await rm(this.path, { force: true });\n',
    instead: ';\n',
  },
  {
    name: 'a short read of a header is taken for all of it',
    file: 'core/models/checkpoint/files/read-block.js',
    text: 'if (bytesRead === 0)',
    instead: 'if (bytesRead < buffer.length)',
    workload: 'relayout',
  },
  {
    name: 'a retry never ends: a staging that cannot be locked is tried again for ever',
    file: 'core/engine/output/staging.js',
    text: "if (state === 'held elsewhere')",
    instead: "if (state === 'never')",
  },
  {
    name: 'a record is written in place',
    file: 'study/experiment/record/record-file.js',
    text: 'await replaceFile(path,',
    instead: "await (await import('node:fs/promises')).writeFile(path,",
    workload: 'batch',
  },
  {
    name: 'a failed write is taken for a success',
    file: 'core/engine/output/journalled-shards.js',
    text: 'this.#failure = this.#failed(shard.name, cause);',
    instead: '',
    workload: 'relayout',
  },
  {
    name: 'the leftovers of a failed merge stay',
    file: 'core/engine/run-plan.js',
    text: 'await staging.discard();',
    instead: 'await staging.keep();',
    workload: 'relayout',
  },
  {
    name: 'a former output is removed before the new one is in its place',
    file: 'core/engine/output/staging.js',
    text: 'if (exchange(directory, path))',
    instead: 'if (await rm(path, { recursive: true }).then(() => false))',
    workload: 'swap replacing',
  },
  {
    name: 'a short body is taken for all of a range',
    file: 'core/models/sources/hub/requests/remote-file.js',
    text: 'if (position < end)\n                    throw new BadAnswerError(',
    instead: 'if (position < end)\n                    void (position = end, ',
    workload: 'swap of the hub',
  },
  {
    name: 'a file that changes between two ranges is not noticed',
    file: 'core/models/sources/hub/requests/remote-file.js',
    text: 'if (own !== this.#served)',
    instead: 'if (false)',
    workload: 'swap of the hub',
  },
  {
    name: 'bytes of a range are recorded that were not written',
    file: 'core/models/sources/ranges/range-file.js',
    text: 'let end = position;',
    instead:
      'let end = position; this.#written.push({ begin: position, end: position + chunks.reduce((sum, { length }) => sum + length, 0) });',
    workload: 'swap of the hub',
  },
  {
    name: 'a cache whose records cannot be examined is taken for whole files',
    file: 'core/base/files/unless-missing.js',
    text: 'if (isMissing(cause))',
    instead: 'if (true)',
    workload: 'download',
  },
  {
    name: 'a range is recorded before it is synced',
    file: 'core/models/sources/ranges/range-file.js',
    text: 'await this.#data.datasync();',
    instead: '',
    power: true,
    workload: 'swap of the hub',
  },
  {
    name: 'a file of the cache has its name before it is whole',
    file: 'core/models/sources/hub/cache/cache-writer.js',
    text: 'const durably = { flush: true };',
    instead: 'const durably = {};',
    power: true,
    workload: 'download',
  },
  {
    name: 'a push reports what the hub did not take',
    file: 'core/models/sources/hub/push/upload/upload.js',
    text: 'await Promise.race([commitOf(events), failure.promise]);',
    instead: 'await Promise.race([commitOf(events), failure.promise]).catch(() => undefined);',
    workload: 'push',
  },
  {
    name: 'the parts of a file are sent to addresses of one another',
    file: 'core/models/sources/hub/push/upload/answers.js',
    text: 'String(index + 1)',
    instead: 'String(parts.length - index)',
    workload: 'push in parts',
  },
  {
    name: 'the failure of a part is swallowed',
    file: 'core/models/sources/hub/push/upload/upload-fetch.js',
    text: 'sent.add(-ofThis);\n',
    instead: `sent.add(-ofThis);
      if (init.body instanceof UploadBlob && init.body.isPart) return new Response('{}', { headers: { etag: '""' } });\n`,
    workload: 'push in parts',
  },
  {
    name: 'bytes of a part that is sent again are counted again',
    file: 'core/models/sources/hub/push/upload/upload-fetch.js',
    text: 'sent.add(-ofThis);',
    instead: '',
    workload: 'push in parts',
  },
  {
    name: 'copies that the hub refuses are taken for done',
    file: 'core/models/sources/hub/push/upload/copy-from-sources.js',
    text: "if (!isObject(answer))\n            continue;\n        const failed = Array.isArray(answer['failed'])",
    instead: "const failed = Array.isArray(answer?.['failed'])",
    workload: 'push with copies',
  },
  {
    name: 'what an interrupted run copied is removed by one that tries to share it',
    file: 'core/engine/output/link.js',
    text: 'if (link === undefined && (staging.done.has(file) || isInMemory(path)))',
    instead: 'if (false)',
    workload: 'swap of the hub',
  },
  {
    name: 'a claim of a live process is taken over',
    file: 'study/store/claims/claim-file.js',
    text: "life === 'dead' ||",
    instead: "life !== 'unknown' ||",
    schedules: true,
  },
  {
    name: 'garbage collection does not look once more for experiments',
    file: 'study/store/gc.js',
    text: 'if (needed.has(key) || (await namesAside(paths, key, claim.token)) > 1)',
    instead: 'if (false)',
    schedules: true,
  },
  {
    name: 'an output is not checked again under the lock',
    file: 'core/engine/output/staging.js',
    text: 'const { replaces } = await output.again();',
    instead: 'const { replaces } = output;',
    schedules: true,
    workload: 'one output',
  },
  {
    name: 'a listing of results that fails is one without results',
    file: 'core/base/files/unless-missing.js',
    text: 'const missing = [',
    instead: "const missing = ['EACCES', 'EMFILE', 'EIO', ",
    workload: 'evaluate',
  },
  {
    name: 'a model whose place cannot be examined is taken for a base with an adapter',
    file: 'core/models/address/address.js',
    text: 'const isHere = (path) => existsIn(folder, path);',
    instead: 'const isHere = (path) => existsIn(folder, path).catch(() => false);',
    workload: 'evaluate',
  },
];
