import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Archive } from '../maintenance.js'
import { outputError } from '../output-error.js'
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
        throw outputError(error, root)
      }
    },
    close: async () => {},
  }
}
