/**
 * What a row of a matrix is: an input feature, whose weights stand along dimension 0 of a tensor stored [out, in], or an output
 * feature, along dimension 1. The paper's tables are by input features (docs/analysis.md).
 */
export type Rows = 'input' | 'output';
