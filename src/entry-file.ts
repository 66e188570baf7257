import { fileURLToPath } from 'node:url'

/**
 * The compiled file that a thread or a child process runs. Tests run the TypeScript sources, which Node 20 cannot load without help, so
 * their threads and processes run the build in dist/.
 */
export function entryFile(from: string, entry: string): string {
  const path = fileURLToPath(new URL(entry, from))
  return from.endsWith('.ts') ? path.replace(/([\\/])src([\\/])(?!.*[\\/]src[\\/])/, '$1dist$2') : path
}
