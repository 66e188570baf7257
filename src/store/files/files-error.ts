import { ShoalError } from '../../errors.js'

export function isMissing(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ENOENT'
}

export function filesError(error: unknown, root: string): ShoalError {
  if (error instanceof ShoalError) return error
  const { code } = error as { code?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new ShoalError('disk_full', `${root}: the disk is full`, { cause: error })
  return new ShoalError('blobs_unwritable', `${root}: raw pages cannot be read or written (${String(code)})`, {
    cause: error,
  })
}
