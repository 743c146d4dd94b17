import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addonFindings, originOf, platformFinding } from '../../src/api/doctor/addon.js';
import { describeExamination } from '../../src/api/doctor/describe.js';
import { directoryFindings, fileSystemType, parseMounts } from '../../src/api/doctor/directory.js';
import { machineFindings } from '../../src/api/doctor/machine.js';
import {
  examineHarness,
  examineHubCache,
  harnessFinding,
  hubCacheFinding,
  pythonOf,
} from '../../src/api/doctor/surroundings.js';
import { examineInstallation } from '../../src/api/examine-installation.js';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

describe('an examination', () => {
  it('finds that merging works here, and leaves the directory as it was', async () => {
    const directory = temporaryDirectory();
    const examination = await examineInstallation(directory);
    expect(examination).toMatchObject({
      ok: true,
      addon: { origin: 'built' },
      directory: { refusal: undefined },
    });
    expect(examination.directory.links).toContain('symbolic');
    expect(readdirSync(directory)).toEqual([]);
    const text = describeExamination(examination);
    expect(text).toMatch(/^ {2}✓ layerloom .*\n {2}✓ Node\.js /);
    const findings = [
      { subject: 'long one', mark: 'ok', text: 'a' },
      { subject: 'x', mark: 'problem', text: 'b', remedy: 'c' },
    ] as const;
    expect(describeExamination({ findings, ok: false }).split('\n').slice(0, 3)).toEqual([
      '  ✓ long one  a',
      '  ✗ x         b',
      '              → c',
    ]);
  });

  it('refuses a directory that is not there', async () => {
    await expect(examineInstallation('/nowhere')).rejects.toMatchObject({ code: 'READ_FAILED' });
  });

  it('finds a directory that cannot be written', async () => {
    const { ok, findings } = await examineInstallation('/proc');
    expect(ok).toBe(false);
    expect(findings.find(({ mark }) => mark === 'problem')).toMatchObject({ subject: 'directory' });
  });

  it('says what keeps the addon from being loaded', () => {
    const error = new LayerloomError('ADDON_BROKEN', {
      file: '/a.node',
      reason: 'short',
      remedy: 'build it',
    });
    expect(addonFindings(error)).toEqual([{ subject: 'addon', mark: 'problem', text: error.message }]);
  });
});

describe('what is found', () => {
  const marks = (findings: readonly { subject: string; mark: string }[]) =>
    Object.fromEntries(findings.map(({ subject, mark }) => [subject, mark]));

  it('warns of Rosetta, and of a processor with scalar instructions alone', () => {
    const mac = { platform: 'darwin', arch: 'x64', libc: undefined };
    expect(platformFinding({ ...mac, rosetta: false }).mark).toBe('ok');
    expect(platformFinding({ ...mac, rosetta: true })).toMatchObject({
      mark: 'warning',
      remedy: expect.stringMatching('arm64'),
    });
    const scalar = {
      file: '/a',
      origin: 'shipped',
      instructionSet: 'scalar',
      instructionSets: ['scalar'],
    } as const;
    expect(marks(addonFindings(scalar))).toEqual({ addon: 'ok', instructions: 'warning' });
  });

  it('warns of memory that a merge would not fit in, whoever limits it', () => {
    const machine = { cores: 64, usableCores: 4, memory: 512e9, memoryLimit: 8e9, availableMemory: 7e9 };
    expect(machineFindings(machine).map(({ text }) => text)).toEqual([
      "4 of 64 cores, by CPU affinity or a cgroup's quota",
      '512 GB, of which a cgroup allows 8.00 GB; 7.00 GB available',
    ]);
    expect(marks(machineFindings({ ...machine, availableMemory: 1e8 }))).toMatchObject({ memory: 'warning' });
  });

  it('warns of a full disk, and of a file system without cheap links', () => {
    const directory = { path: '/scratch', type: 'xfs', free: 1e12, refusal: undefined };
    expect(marks(directoryFindings({ ...directory, links: ['reflink', 'hard', 'symbolic'] }))).toEqual({
      directory: 'ok',
      links: 'ok',
    });
    expect(marks(directoryFindings({ ...directory, free: 1e9, links: ['symbolic'] }))).toEqual({
      directory: 'warning',
      links: 'warning',
    });
  });

  it('knows the file system by the mount that is nearest above', () => {
    const mounts = parseMounts(
      [
        '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
        '30 22 0:30 / /home rw shared:2 master:1 - nfs4 server:/home rw',
        '31 22 0:31 / /mnt/my\\040disk rw - fuse.sshfs host: rw',
        '/dev/disk3s1 on /Volumes/My Disk (apfs, local, journaled)',
      ].join('\n'),
    );
    expect(fileSystemType('/homework/a', mounts)).toBe('ext4');
    expect(fileSystemType('/home/a', mounts)).toBe('nfs4');
    expect(fileSystemType('/mnt/my disk', mounts)).toBe('fuse.sshfs');
    expect(fileSystemType('/Volumes/My Disk/a', mounts)).toBe('apfs');
  });

  it('tells an addon of a release from one that was built later, by its SHA-256', () => {
    const content = Buffer.from('an addon');
    const hash = createHash('sha256').update(content).digest('hex');
    const sums = `${'0'.repeat(64)}  linux-arm64/layerloom.node\n${hash}  linux-x64/layerloom.node\n`;
    expect(originOf(content, 'linux-x64', sums)).toBe('shipped');
    expect(originOf(content, 'linux-arm64', sums)).toBe('built');
    expect(originOf(Buffer.from('another'), 'linux-x64', sums)).toBe('built');
    expect(originOf(content, 'linux-x64', undefined)).toBe('built');
  });

  it('counts the models of the hub cache', () => {
    const cache = temporaryDirectory();
    for (const name of ['models--a--b', 'models--a--c', 'datasets--a--d']) mkdirSync(join(cache, name));
    expect(examineHubCache({ HF_HUB_CACHE: cache })).toEqual({ path: cache, models: 2 });
    expect(hubCacheFinding(examineHubCache({ HF_HUB_CACHE: join(cache, 'none') })).mark).toBe('ok');
    const loop = join(cache, 'loop');
    symlinkSync(loop, loop);
    expect(hubCacheFinding(examineHubCache({ HF_HUB_CACHE: loop }))).toMatchObject({
      mark: 'warning',
      text: expect.stringMatching(/loop cannot be read: its symbolic links/),
    });
  });

  it('asks the environment of lm_eval for its version', () => {
    expect(pythonOf('#!/opt/venv/bin/python3\nimport sys')).toBe('/opt/venv/bin/python3');
    expect(pythonOf('#!/bin/sh\n\'\'\'exec\' /long/venv/bin/python "$0" "$@"')).toBe('/long/venv/bin/python');
    const directory = temporaryDirectory();
    const python = join(directory, 'python');
    writeFileSync(python, '#!/bin/sh\necho 0.4.13\n', { mode: 0o755 });
    writeFileSync(join(directory, 'lm_eval'), `#!${python}\n`, { mode: 0o755 });
    const found = examineHarness({ PATH: `/nowhere:${directory}` });
    expect(found).toEqual({ command: 'lm_eval', file: join(directory, 'lm_eval'), version: '0.4.13' });
    expect(harnessFinding(found).mark).toBe('ok');
    expect(harnessFinding({ ...found, version: '0.4.9' }).mark).toBe('warning');
    expect(harnessFinding(examineHarness({ PATH: '/nowhere' }))).toMatchObject({
      mark: 'warning',
      text: expect.stringMatching('PATH'),
    });
  });
});
