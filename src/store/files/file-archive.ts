import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ShoalError } from '../../errors.js'
import type { Archive } from '../archive.js'
import { syncFolder } from './sync-folder.js'

/** A folder of files, each of which appears when it is whole and on the disk: what is in it has left the store. */
export function fileArchive(root: string): Archive {
  return {
    async write(name, bytes) {
      const path = join(root, name)
      const part = `${path}.${randomUUID().slice(0, 8)}.part`
      try {
        await mkdir(root, { recursive: true })
        const file = await open(part, 'wx')
        try {
          for await (const piece of bytes) await file.writeFile(piece)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(part, path)
        await syncFolder(root)
        return path
      } catch (error) {
        await rm(part, { force: true }).catch(() => {})
        throw archiveError(error, root)
      }
    },
    close: async () => {},
  }
}

/** What the rows themselves failed of stays what it is. */
function archiveError(error: unknown, root: string): unknown {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (syscall === undefined) return error
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new ShoalError('disk_full', `${root}: the disk is full`, { cause: error })
  return new ShoalError('out_unwritable', `${root}: cannot be written (${String(code)})`, { cause: error })
}
