import { ShoalError } from '../errors.js'

/** What went wrong with a file of the user's; what is no matter of the file stays what it is. */
export function outputError(error: unknown, path: string): unknown {
  if (error instanceof ShoalError) return error
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new ShoalError('disk_full', `${path}: the disk is full`, { cause: error })
  if (syscall === undefined) return error
  return new ShoalError('out_unwritable', `${path}: cannot be written (${String(code)})`, { cause: error })
}
