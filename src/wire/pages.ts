import { dirname, join, resolve } from 'node:path'
import type { Clock } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { BlobIndex } from '../store/blob-index.js'
import type { BlobStore } from '../store/blob-store.js'
import { fileArchive } from '../store/files/file-archive.js'
import { FilePackPlace } from '../store/files/file-pack-place.js'
import type { Archive } from '../store/maintenance.js'
import { MemoryBlobStore } from '../store/memory/memory-blob-store.js'
import { PackedBlobStore } from '../store/packs/packed-blob-store.js'
import { parseS3 } from '../store/s3/s3-address.js'
import { showUrl } from '../url/show-url.js'

/** `memory:`, `files:<folder>` with its whole path, or `s3://…`: checked, and usable by another thread. */
export type PagesAddress = string

/** `file`: that of the records; raw pages are in its folder unless an address is given. Null when the records are on a server. */
export function parsePages(given: string | null, file: string | null): PagesAddress {
  if (given === null) return `files:${file === null ? resolve('.shoal', 'pages') : join(dirname(file), 'pages')}`
  if (given.startsWith('s3://')) {
    parseS3(given)
    return given
  }
  const folder = /^files:(?:\/\/)?(.+)$/.exec(given)?.[1]
  if (folder !== undefined) return `files:${resolve(folder)}`
  throw new ShoalError('pages_address', `no place for raw pages is known for the address ${showUrl(given)}`)
}

/** Nothing is connected or created before the first page is put or read. */
export async function openPages(address: PagesAddress, index: BlobIndex, clock: Clock): Promise<BlobStore> {
  if (address === MEMORY_PAGES) return new MemoryBlobStore()
  if (address.startsWith('s3://')) {
    const { S3PackPlace } = await import('../store/s3/s3-pack-place.js')
    return new PackedBlobStore(index, new S3PackPlace(parseS3(address), clock), clock)
  }
  const folder = address.slice('files:'.length)
  return new PackedBlobStore(index, new FilePackPlace(folder, clock), clock)
}

export const MEMORY_PAGES: PagesAddress = 'memory:'

/** Where rows go when they leave the store: `files:<folder>` or `s3://bucket/prefix`. */
export async function openArchive(address: string, clock: Clock): Promise<Archive> {
  const place = parsePages(address, null)
  if (!place.startsWith('s3://')) return fileArchive(place.slice('files:'.length))
  const { s3Archive } = await import('../store/s3/s3-archive.js')
  return s3Archive(parseS3(place), clock)
}
