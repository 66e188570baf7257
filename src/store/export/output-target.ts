import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { ShoalError } from '../../errors.js'

/** `replace`: a file that takes the place of the one at `path` when it is whole. `stream`: a device or a pipe, which is written to as it is. */
export interface OutputTarget {
  readonly kind: 'replace' | 'stream'
  readonly path: string
}

/**
 * Where an export to this path goes. A rename would turn `/dev/null` into a file, for the whole machine when root does it; it would also replace a link
 * instead of the file that it points to, and a file that its owner has made read-only.
 */
export async function outputTarget(path: string): Promise<OutputTarget> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (found === null) return { kind: 'replace', path }
  if (found.isDirectory()) throw new ShoalError('out_unwritable', `${path}: cannot be written, it is a folder`)
  await access(path, constants.W_OK)
  return found.isFile() ? { kind: 'replace', path: await realpath(path) } : { kind: 'stream', path }
}
