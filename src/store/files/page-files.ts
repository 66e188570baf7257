import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobRef, BlobStore } from '../blob-store.js'
import { brotli, hashIn, sha256 } from '../packs/codec.js'
import { filesError, isMissing } from './files-error.js'

/** Its length was not recorded: larger than any page that is read by default. */
const MOST_BYTES = 256 * 1024 * 1024

const ENDINGS = ['br', 'raw'] as const

/** Raw pages were once a file each, `ab/cd/<sha256>.br`: what is not in a pack of this folder may still be there. */
export function alsoPageFiles(packs: BlobStore, root: string): BlobStore {
  return {
    ready: () => packs.ready(),
    put: (page, type) => packs.put(page, type),
    hurry: () => packs.hurry(),
    get: async (ref) => (await packs.get(ref)) ?? (await readPageFile(root, ref)),
    has: async (ref) => (await packs.has(ref)) || (await findPageFile(root, ref)) !== null,
    locate: async (ref) => (await packs.locate(ref)) ?? (await findPageFile(root, ref)),
    maintenance: packs.maintenance,
    close: () => packs.close(),
  }
}

async function readPageFile(root: string, ref: BlobRef): Promise<Uint8Array | null> {
  const hash = hashIn(ref)
  if (hash === null) return null
  for (const ending of ENDINGS) {
    const bytes = await readIfThere(pathOf(root, hash, ending), root)
    const page = bytes === null || ending === 'raw' ? bytes : await brotli(bytes, MOST_BYTES)
    if (page !== null && sha256(page) === hash) return page
  }
  return null
}

async function findPageFile(root: string, ref: BlobRef): Promise<string | null> {
  const hash = hashIn(ref)
  if (hash === null) return null
  for (const ending of ENDINGS) {
    const path = pathOf(root, hash, ending)
    const found = await stat(path).catch(() => null)
    if (found !== null) return path
  }
  return null
}

function pathOf(root: string, hash: string, ending: string): string {
  return join(root, hash.slice(0, 2), hash.slice(2, 4), `${hash}.${ending}`)
}

async function readIfThere(path: string, root: string): Promise<Uint8Array | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isMissing(error)) return null
    throw filesError(error, root)
  }
}
