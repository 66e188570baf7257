import type { Clock } from '../../clock.js'
import type { Archive } from '../maintenance.js'
import { type S3Address, showS3 } from './s3-address.js'
import { loadSdk, S3Calls } from './s3-client.js'

/** At most 10,000 of them make an object: 80 GB. */
const PART_BYTES = 8 * 1024 * 1024

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
        const Parts: { ETag: string | undefined; PartNumber: number }[] = []
        for await (const Body of inParts(bytes)) {
          const PartNumber = Parts.length + 1
          const { ETag } = await s3.call(
            ({ UploadPartCommand }, client, abortSignal) =>
              client.send(new UploadPartCommand({ ...upload, PartNumber, Body }), { abortSignal }),
            { bytes: Body.length },
          )
          Parts.push({ ETag, PartNumber })
        }
        await s3.call(({ CompleteMultipartUploadCommand }, client, abortSignal) =>
          client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }), { abortSignal }),
        )
      } catch (error) {
        // Parts of an upload that nobody ends are paid for without being seen.
        await s3
          .call(({ AbortMultipartUploadCommand }, client, abortSignal) =>
            client.send(new AbortMultipartUploadCommand(upload), { abortSignal }),
          )
          .catch(() => {})
        throw error
      }
      return `${showS3(address)}${name}`
    },
    close: () => s3.close(),
  }
}

/** Every part but the last must be of a size of its own: 5 MB at least. */
async function* inParts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of bytes) {
    pieces.push(piece)
    size += piece.length
    if (size < PART_BYTES) continue
    yield Buffer.concat(pieces)
    pieces = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(pieces)
}
