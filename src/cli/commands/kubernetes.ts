import { command } from '../framework/command.js';
import { option } from '../framework/option.js';
import {
  evaluationOptions,
  experimentFile,
  jobOptions,
  ownEvaluationOptions,
} from '../options/scheduling.js';

export const kubernetes = command({
  name: 'kubernetes',
  summary: 'print a manifest of Jobs for Kubernetes, in parts',
  arguments: { experiment: experimentFile },
  options: {
    ...jobOptions,
    image: option('--image <image>', 'image that has layerloom', { required: true }),
    volumes: option(
      '--volume <claim=path>',
      'persistent volume claim, and where pods see it; CLAIM=PATH:ro is read-only',
      { repeatable: true },
    ),
    experimentPath: option('--experiment-path <path>', "the experiment's file, as pods see it", {
      default: 'its path here',
    }),
    command: option('--command <command>', 'command of layerloom in the image', { default: 'layerloom' }),
    name: option('--name <name>', "first part of the jobs' names", { default: 'layerloom- and the output' }),
    namespace: option('--namespace <name>', 'namespace of the jobs', { default: "kubectl's" }),
    ...evaluationOptions,
    evaluateImage: ownEvaluationOptions.evaluateImage,
  },
  examples: [
    [
      'layerloom experiment kubernetes study.yaml --image registry/layerloom --volume models=/data --experiment-path /data/study.yaml -o /data/study > jobs.yaml',
      'merge on the volume of the claim models',
    ],
    [
      'layerloom experiment kubernetes study.yaml --image registry/layerloom --volume models=/data --experiment-path /data/study.yaml -o /data/study --evaluate --gpus 1 > jobs.yaml',
      'score the models too, each pod on one GPU',
    ],
  ],
  run: async (given) => {
    const { experimentKubernetesCommand } = await import('../work/schedulers.js');
    await experimentKubernetesCommand(given);
  },
});
