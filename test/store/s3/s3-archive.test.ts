import { GetObjectCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { parseS3 } from '../../../src/store/s3/s3-address.js'
import { s3Archive } from '../../../src/store/s3/s3-archive.js'
import { CREDENTIALS, type S3Server, startS3 } from '../../support/s3-server.js'

let server: S3Server
beforeAll(async () => {
  Object.assign(process.env, CREDENTIALS)
  server = await startS3()
})
afterAll(() => server.end())

const MB = 1024 * 1024

async function* pieces(count: number, fail = false): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n++) yield Buffer.alloc(MB, n + 1)
  if (fail) throw new Error('the rows are gone')
}

it('puts a large file together from parts, and a small one too', async () => {
  const address = parseS3(server.address('archive'))
  const archive = s3Archive(address, systemClock)
  const client = new S3Client({ endpoint: address.endpoint ?? '', region: 'us-east-1', forcePathStyle: true })
  for (const [name, size] of [
    ['large.parquet', 34],
    ['small.parquet', 1],
  ] as const) {
    expect(await archive.write(name, pieces(size))).toBe(`s3://${address.bucket}/archive/${name}`)
    const { Body } = await client.send(new GetObjectCommand({ Bucket: address.bucket, Key: `archive/${name}` }))
    const bytes = Buffer.from((await Body?.transformToByteArray()) ?? [])
    expect(bytes.length).toBe(size * MB)
    expect([bytes[0], bytes.at(-1)]).toEqual([1, size])
  }
  await expect(archive.write('broken.parquet', pieces(20, true))).rejects.toThrow('the rows are gone')
  const { Uploads = [] } = await client
    .send(new ListMultipartUploadsCommand({ Bucket: address.bucket }))
    .catch(() => ({ Uploads: [] }))
  expect(Uploads).toEqual([])
  await expect(
    client.send(new GetObjectCommand({ Bucket: address.bucket, Key: 'archive/broken.parquet' })),
  ).rejects.toThrow()
  client.destroy()
  await archive.close()
})
