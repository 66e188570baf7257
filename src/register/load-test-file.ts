import { relative } from 'node:path'
import { evaluateFile } from '../spider/load.js'

/** Runs a test file in TypeScript. Its imports, the spider among them, are loaded as in `shoal run`. */
export async function loadTestFile(file: string): Promise<unknown> {
  return evaluateFile(file, relative(process.cwd(), file), { 'shoal/test': await import('../test.js') })
}
