import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

/** Returns what the probe misses in an lm_eval with these files. */
const lackingIn = (files: Readonly<Record<string, string>>): string[] => {
  const root = temporaryDirectory();
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  const code = 'import json, sys, uses; print(json.dumps(uses.lacking(sys.argv[1])))';
  return JSON.parse(
    execFileSync('python3', ['-c', code, root], { cwd: 'python/layerloom_eval', encoding: 'utf8' }),
  ) as string[];
};

describe('the probe of a harness', () => {
  const used = {
    '_cli/run.py': 'class Run: pass',
    'config/evaluate_config.py': 'class EvaluatorConfig:\n  def process_tasks(self, metadata=None): pass',
    'tasks/_factory.py': 'class TaskFactory:\n  def __init__(self, *, meta=None): pass',
    'tasks/manager.py':
      'class TaskManager:\n  def __init__(self, metadata=None): pass\n  def load(self, task_list): pass',
    'api/task.py':
      'class Task:\n  def build_all_requests(self, *, apply_chat_template=False): pass\nclass ConfigurableTask(Task): pass',
    'api/model.py': 'class CachingLM:\n  def __init__(self, lm, cache_db): pass',
    'api/registry.py': 'def get_model(model_name): pass',
    'api/instance.py': 'class Instance: pass',
    'evaluator.py': 'from lm_eval.loggers.utils import add_env_info',
    'models/huggingface.py':
      'class HFLM:\n  def _create_model(self, pretrained, **more): pass\n  def generate_until(self, requests, disable_tqdm=False): pass\n  def apply_chat_template(self, chat_history): pass',
  };

  it('finds what is used without importing it', () => {
    expect(lackingIn(used)).toEqual([]);
  });

  it('names a function, an argument, a file that is not there or is no Python', () => {
    const without = (file: keyof typeof used, text: string) => lackingIn({ ...used, [file]: text });
    expect(without('_cli/run.py', '')).toEqual(['lm_eval run --config']);
    expect(without('tasks/_factory.py', 'class TaskFactory:\n  def __init__(self): pass')).toEqual([
      'TaskFactory.__init__ of tasks/_factory.py',
    ]);
    expect(without('evaluator.py', 'def (')).toEqual(['add_env_info of evaluator.py']);
    expect(lackingIn({})[0]).toBe('lm_eval run --config');
  });
});
