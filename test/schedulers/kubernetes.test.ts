import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  type KubernetesParameters,
  type KubernetesTrainingParameters,
  kubernetesManifest,
} from '../../src/study/schedulers/kubernetes.js';

const manifest = (more: Partial<KubernetesParameters> = {}) =>
  kubernetesManifest({
    experiment: '/data/e.yaml',
    out: '/data/My Study_1',
    image: 'registry/layerloom:1',
    volumes: [{ claim: 'models', path: '/data' }],
    ...more,
  });

const jobsIn = (text: string) =>
  [...parseAllDocuments(text)].map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });

describe('the manifest for Kubernetes', () => {
  it('has an Indexed Job of the parts, and suspended ones behind it', () => {
    const text = manifest({ parts: 3, namespace: 'ours', evaluation: { parts: 2 } });
    const [parts, last, scores, ...more] = jobsIn(text);
    expect(more).toEqual([]);
    expect(parts.metadata).toEqual({ name: 'layerloom-my-study-1-parts', namespace: 'ours' });
    expect(parts.spec).toMatchObject({
      ...{ completionMode: 'Indexed', completions: 3, parallelism: 3, backoffLimitPerIndex: 3 },
      ttlSecondsAfterFinished: 604800,
    });
    expect(parts.spec.suspend).toBeUndefined();
    expect(last.spec).toMatchObject({ suspend: true, backoffLimit: 3 });
    expect(last.spec.completionMode).toBeUndefined();
    expect(scores.spec).toMatchObject({ suspend: true, completionMode: 'Indexed', completions: 2 });
    expect(text).toContain('#   ended layerloom-my-study-1-last; resume layerloom-my-study-1-evaluate\n');
    expect(text).toContain('kubectl -n ours apply');
    expect(jobsIn(manifest())).toHaveLength(2);
  });

  it('runs words as they are, without a shell, and dollars that are no variable', () => {
    const [parts, last] = jobsIn(manifest({ out: `/data/it's $(HOME) 1`, stamp: '1.2.3:0123456789abcdef' }));
    const words = ['layerloom', 'batch', '/data/e.yaml', '-o', `/data/it's $$(HOME) 1`];
    const expected = ['--expect', '1.2.3:0123456789abcdef'];
    const commandOf = (job: typeof parts) => job.spec.template.spec.containers[0].command;
    expect(commandOf(parts)).toEqual([...words, ...expected, '--part', '$(JOB_COMPLETION_INDEX)/8']);
    expect(commandOf(last)).toEqual([...words, ...expected, '--resume']);
  });

  /** Kubernetes' expansion of arguments: `$$` is `$`, and `$(NAME)` a variable. */
  const expanded = (word: string): string =>
    word.replace(/\$\$|\$\((\w+)\)/g, (_, name?: string) => (name === undefined ? '$' : `value of ${name}`));

  it.each(['$(X)', '$$(X)', '$$$(X)', '$$$$(X)', '$X', '$$', 'a$'])('keeps the dollars of %s', (name) => {
    const [parts] = jobsIn(manifest({ out: `/data/${name}` }));
    const words: string[] = parts.spec.template.spec.containers[0].command;
    expect(words.map(expanded)).toContain(`/data/${name}`);
  });

  it.each(['\u2028', '\u2029', '\u0085', '\ufeff', '\ud800'])(
    'refuses the character %j in paths',
    (character) => {
      expect(() => manifest({ experiment: `/data/a${character}b.yaml` })).toThrow(
        /experiment: expected text without/,
      );
      expect(() => manifest({ volumes: [{ claim: 'a', path: `/data${character}` }] })).toThrow(
        /volume: expected/,
      );
    },
  );

  it('lets evaluations run the commands of the experiment only where that is said', () => {
    const words = (allowServe: boolean) => {
      const [, , scores] = jobsIn(manifest({ evaluation: { allowServe } }));
      return scores.spec.template.spec.containers[0].command;
    };
    expect([words(true).includes('--allow-serve'), words(false).includes('--allow-serve')]).toEqual([
      true,
      false,
    ]);
  });

  it('mounts each claim, and asks GPUs for evaluations alone', () => {
    const [parts, , scores] = jobsIn(
      manifest({
        ...{ cpus: 4, memory: '8G', time: '02:00:00' },
        volumes: [
          { claim: 'models', path: '/models', readOnly: true },
          { claim: 'work', path: '/data' },
        ],
        evaluation: { gpus: 2, image: 'registry/harness', time: '1-0' },
      }),
    );
    const [pod, scorer] = [parts, scores].map(({ spec }) => spec.template.spec);
    expect(pod.containers[0].resources.limits).toEqual({ cpu: '4', memory: '8192Mi' });
    expect(scorer.containers[0].resources.limits).toEqual({
      ...{ cpu: '4', memory: '8192Mi' },
      'nvidia.com/gpu': '2',
    });
    expect([pod.activeDeadlineSeconds, scorer.activeDeadlineSeconds]).toEqual([7200, 86400]);
    expect(scorer.containers[0].image).toBe('registry/harness');
    expect(pod.containers[0].volumeMounts).toEqual([
      { name: 'claim-0', mountPath: '/models', readOnly: true },
      { name: 'claim-1', mountPath: '/data' },
    ]);
    expect(pod.volumes[1]).toEqual({ name: 'claim-1', persistentVolumeClaim: { claimName: 'work' } });
  });

  it.each<[Partial<KubernetesParameters>, RegExp]>([
    [{ volumes: [] }, /experiment: expected a path inside pods, on one of the volumes/],
    [{ store: '/database/store' }, /store: expected a path inside pods, on one of the volumes/],
    [{ volumes: [{ claim: 'a b', path: '/data' }] }, /volume: expected CLAIM=\/PATH/],
    [{ volumes: [{ claim: 'a', path: 'data' }] }, /volume: expected CLAIM=\/PATH/],
    [{ name: 'My study' }, /name: expected lower-case letters/],
    [{ namespace: 'a_b' }, /namespace: expected lower-case letters/],
    [{ image: '' }, /image: expected text/],
    [{ evaluation: { gpus: -1 } }, /gpus: expected a whole number, 0 or more/],
  ])('refuses %j', (more, message) => {
    expect(() => manifest(more)).toThrow(message);
  });
});

describe('the manifest for Kubernetes of a training', () => {
  const training = (more: Partial<KubernetesTrainingParameters> = {}) =>
    kubernetesManifest({
      training: '/data/My Runs/',
      parts: 2,
      image: 'registry/trl',
      volumes: [{ claim: 'models', path: '/data' }],
      ...more,
    });

  it('trains in an Indexed Job, one GPU a pod, and asks for the status in a suspended Job', () => {
    const text = training({ memory: '64G' });
    const [parts, last, ...more] = jobsIn(text);
    expect(more).toEqual([]);
    expect(parts.metadata.name).toBe('layerloom-my-runs-parts');
    expect(parts.spec).toMatchObject({ completionMode: 'Indexed', completions: 2, parallelism: 2 });
    expect(last.spec).toMatchObject({ suspend: true });
    const [trainer, status] = [parts, last].map(({ spec }) => spec.template.spec.containers[0]);
    expect(trainer.command).toEqual(['bash', '/data/My Runs/train.sh', '$(JOB_COMPLETION_INDEX)/2']);
    expect(trainer.resources.limits).toEqual({ memory: '65536Mi', 'nvidia.com/gpu': '1' });
    expect(status.command).toEqual(['layerloom', 'train', 'status', '/data/My Runs/']);
    expect(status.resources.limits).toEqual({ memory: '65536Mi' });
    expect(text).toContain('# Runs /data/My Runs/ in parts, and a last job that reports which runs exist.');
  });

  it('refuses a directory that pods do not see', () => {
    expect(() => training({ training: '/home/runs' })).toThrow(
      /training: expected a path inside pods, on one of the volumes/,
    );
  });
});
