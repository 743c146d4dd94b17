import { describe, expect, it } from 'vitest';
import { paceOf } from '../../src/study/evaluation/pace.js';
import { parseEvaluation } from '../../src/study/evaluation/settings.js';
import { TimeLeft } from '../../src/study/experiment/scoring/requests/time-left.js';
import { constructedResult } from '../fixtures/scored.js';

/** A result of `n` problems; results of one run repeat its duration. */
const result = (model: string, task: string, n: number, seconds: number, changes: object = {}) => ({
  ...constructedResult({ model, task, scores: Array.from({ length: n }, () => 1) }),
  ...{ seconds, source: 'run' as const, rows: [0, n] as const },
  ...changes,
});

describe('the pace of a machine', () => {
  it('divides the duration of a run among its tasks by their problems', () => {
    const pace = paceOf([result('a', 'mgsm_direct_sw', 30, 80), result('a', 'belebele_swh_Latn', 10, 80)]);
    expect(pace.secondsPerProblem('mgsm_direct_sw')).toBe(2);
    expect(pace.secondsPerProblem('belebele_swh_Latn')).toBe(2);
    expect(pace.secondsOf('mgsm_direct_sw', [10, 30])).toBe(40);
  });

  it('weighs runs by their problems, and leaves out what was measured elsewhere', () => {
    const pace = paceOf([
      result('a', 'mgsm_direct_sw', 10, 40),
      result('b', 'mgsm_direct_sw', 30, 40),
      result('c', 'mgsm_direct_sw', 10, 9000, { source: 'imported' }),
    ]);
    expect(pace.secondsPerProblem('mgsm_direct_sw')).toBe(2);
    expect(pace.results).toBe(2);
  });

  it('takes all rows of a task from a result, else from the benchmark as published, else says nothing', () => {
    const pace = paceOf([
      result('a', 'mgsm_direct_sw', 10, 20),
      result('a', 'own', 7, 7, { started: 'other', rows: null }),
      result('a', 'unknown', 7, 7, { started: 'another' }),
    ]);
    expect(pace.problemsIn('mgsm_direct_sw', null)).toBe(250);
    expect(pace.problemsIn('layerloom_mbpp_sw', null)).toBe(500);
    expect(pace.problemsIn('mbpp_plus', null)).toBeUndefined();
    expect(pace.problemsIn('own', null)).toBe(7);
    expect(pace.problemsIn('own', [0, 100])).toBe(7);
    expect(pace.secondsOf('unknown', null)).toBeUndefined();
    expect(pace.secondsOf('never', [0, 5])).toBeUndefined();
  });
});

const settings = parseEvaluation({ tasks: { swahili: ['mgsm_direct_sw', 'own'] }, limit: 20 }, '/');
const [one, both] = [['mgsm_direct_sw'], ['mgsm_direct_sw', 'own']];

describe('the time that an evaluation still takes', () => {
  it('is not said before anything is measured', () => {
    expect(new TimeLeft(settings, 1, []).secondsOf([{ name: 'a', tasks: one }])).toBeNull();
    expect(new TimeLeft(settings, 1, []).secondsOf([])).toBe(0);
  });

  it('follows from results that are there, divided among models at once, at least that of one model', () => {
    const results = [result('x', 'mgsm_direct_sw', 10, 10)];
    const models = ['a', 'b', 'c'].map((name) => ({ name, tasks: one }));
    expect(new TimeLeft(settings, 1, results).secondsOf(models)).toBe(60);
    expect(new TimeLeft(settings, 2, results).secondsOf(models)).toBe(30);
    expect(new TimeLeft(settings, 8, results).secondsOf(models)).toBe(20);
    expect(new TimeLeft(settings, 1, results).secondsOf([{ name: 'a', tasks: both }])).toBeNull();
  });

  it('follows from the requests of a run under way, for it and for models of the same tasks', () => {
    let now = 0;
    const time = new TimeLeft(settings, 1, [], () => now);
    time.begin('a', both);
    const models = ['a', 'b'].map((name) => ({ name, tasks: both }));
    now = 10_000;
    time.answered('a', { done: 1, total: 100 });
    expect(time.secondsOf(models)).toBeNull();
    time.answered('a', { done: 25, total: 100 });
    expect(time.requests).toEqual([{ model: 'a', done: 25, total: 100 }]);
    expect(time.secondsOf(models)).toBe(30 + 40);
    now = 20_000;
    time.answered('a', { done: 50, total: 100 });
    expect(time.secondsOf(models)).toBe(20 + 40);
    expect(time.secondsOf([{ name: 'b', tasks: one }])).toBeNull();
  });

  it('trusts the pace of a run as far as it has come, and results for the rest', () => {
    let now = 0;
    const time = new TimeLeft(settings, 1, [result('x', 'mgsm_direct_sw', 10, 10)], () => now);
    time.begin('a', one);
    now = 10_000;
    time.answered('a', { done: 5, total: 20 });
    // Own estimate 40 s, by the result 20 s: one quarter and three quarters.
    expect(time.secondsOf([{ name: 'a', tasks: one }])).toBe(40 / 4 + (3 * 20) / 4 - 10);
  });

  it('counts a further run of the same model, and results as they come', () => {
    let now = 0;
    const time = new TimeLeft(settings, 1, [result('x', 'own', 10, 10)], () => now);
    time.begin('a', one);
    now = 10_000;
    time.answered('a', { done: 10, total: 20 });
    expect(time.secondsOf([{ name: 'a', tasks: both }])).toBe(10 + 20);
    time.begin('a', ['own']);
    expect(time.secondsOf([{ name: 'a', tasks: both }])).toBe(20);
    time.end('a', [result('a', 'mgsm_direct_sw', 20, 30), result('a', 'own', 20, 20, { started: 'later' })]);
    expect(time.requests).toEqual([]);
    expect(time.secondsOf([{ name: 'b', tasks: one }])).toBe(30);
  });
});
