import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import type { Archive } from '../maintenance.js'
import { type S3Address, showS3 } from './s3-address.js'
import { loadSdk, S3Calls } from './s3-client.js'
import { isAbsent } from './s3-errors.js'

/** At most 10,000 of them make an object: 80 GB. */
const PART_BYTES = 8 * 1024 * 1024

interface ObjectPlace {
  readonly Bucket: string
  readonly Key: string
}

interface Upload extends ObjectPlace {
  readonly UploadId: string | undefined
}

/** Files as objects, sent in parts: an object appears when its last part is there. */
export function s3Archive(address: S3Address, clock: Clock): Archive {
  const s3 = new S3Calls(address, clock, loadSdk)
  return {
    async write(name, bytes) {
      const place = { Bucket: address.bucket, Key: `${address.prefix}${name}` }
      const { UploadId } = await s3.call(({ CreateMultipartUploadCommand }, client, abortSignal) =>
        client.send(new CreateMultipartUploadCommand(place), { abortSignal }),
      )
      const upload = { ...place, UploadId }
      try {
        await abortOthers(s3, upload)
        const sent = await sendParts(s3, upload, bytes)
        if (sent.isConfirmed || (await isStored(s3, place, sent.bytes))) return `${showS3(address)}${name}`
        throw new ShoalError('pages_down', `${showS3(address)}${name}: the upload ended, and the object is not there`)
      } catch (error) {
        // Parts of an upload that nobody ends are paid for without being seen. If this fails too, the next attempt does it.
        await abort(s3, upload).catch(() => {})
        throw error
      }
    },
    close: () => s3.close(),
  }
}

/** `isConfirmed`: the service said that the object is complete. */
async function sendParts(
  s3: S3Calls,
  upload: Upload,
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ bytes: number; isConfirmed: boolean }> {
  const Parts: { ETag: string | undefined; PartNumber: number }[] = []
  let sent = 0
  for await (const Body of inParts(bytes)) {
    const PartNumber = Parts.length + 1
    const { ETag } = await s3.call(
      ({ UploadPartCommand }, client, abortSignal) =>
        client.send(new UploadPartCommand({ ...upload, PartNumber, Body }), { abortSignal }),
      { bytes: Body.length },
    )
    Parts.push({ ETag, PartNumber })
    sent += Body.length
  }
  try {
    const { ETag } = await s3.call(
      ({ CompleteMultipartUploadCommand }, client, abortSignal) =>
        client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }), { abortSignal }),
      { expected: isAbsent },
    )
    // The status is sent before the object is put together: a 200 may hold an error, which the SDK misses if a line end follows it.
    return { bytes: sent, isConfirmed: ETag !== undefined }
  } catch (error) {
    // The reply was lost, and the repeated call finds no upload: the object may be complete.
    if (isAbsent(error)) return { bytes: sent, isConfirmed: false }
    throw error
  }
}

async function isStored(s3: S3Calls, place: ObjectPlace, bytes: number): Promise<boolean> {
  try {
    const { ContentLength } = await s3.call(
      ({ HeadObjectCommand }, client, abortSignal) => client.send(new HeadObjectCommand(place), { abortSignal }),
      { expected: isAbsent },
    )
    return ContentLength === bytes
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

/** Of a process that was killed, of an outage that outlived the attempt, or of a first call whose reply was lost. */
async function abortOthers(s3: S3Calls, { Bucket, Key, UploadId }: Upload): Promise<void> {
  try {
    const { Uploads = [] } = await s3.call(({ ListMultipartUploadsCommand }, client, abortSignal) =>
      client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }), { abortSignal }),
    )
    for (const other of Uploads)
      if (other.Key === Key && other.UploadId !== UploadId) await abort(s3, { Bucket, Key, UploadId: other.UploadId })
  } catch {
    // Not every service lists uploads, nor has every user the permission: what is left costs money and harms nothing.
  }
}

async function abort(s3: S3Calls, upload: Upload): Promise<void> {
  await s3.call(({ AbortMultipartUploadCommand }, client, abortSignal) =>
    client.send(new AbortMultipartUploadCommand(upload), { abortSignal }),
  )
}

/** Every part but the last must have 5 MB at least. A file without bytes is one empty part: an upload of none cannot be completed. */
async function* inParts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pieces: Uint8Array[] = []
  let size = 0
  let isFirst = true
  for await (const piece of bytes) {
    pieces.push(piece)
    size += piece.length
    if (size < PART_BYTES) continue
    yield Buffer.concat(pieces)
    pieces = []
    size = 0
    isFirst = false
  }
  if (size > 0 || isFirst) yield Buffer.concat(pieces)
}
