import type { LoadHook } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Runs in the thread of Node's module hooks, so it only says which file to load: the file is evaluated in the thread of the tests. */
export const load: LoadHook = async (url, context, next) => {
  if (!isTypeScript(url)) return next(url, context)
  const loader = new URL('load-test-file.js', import.meta.url).href
  const file = fileURLToPath(url)
  const source = `import { loadTestFile } from ${JSON.stringify(loader)}\nexport default await loadTestFile(${JSON.stringify(file)})\n`
  return { format: 'module', source, shortCircuit: true }
}

function isTypeScript(url: string): boolean {
  return url.startsWith('file:') && /\.m?tsx?$/.test(url) && !url.includes('/node_modules/')
}
