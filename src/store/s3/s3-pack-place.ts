import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import { PACK_MAGIC } from '../packs/pack-format.js'
import { isPackName, newPackName, type PackInfo, type PackPlace } from '../packs/pack-place.js'
import { type S3Address, showS3 } from './s3-address.js'
import { loadSdk, S3Calls, type Sdk } from './s3-client.js'
import { isAbsent, isUnknownCall, wasThere } from './s3-errors.js'

const ENDING = '.pack'
const ID = /^[0-9a-f]{8}$/
/** Another process may remove the name between two calls; a service that shows no object it has accepted would cost a put each time. */
const OPEN_ATTEMPTS = 3

/** Packs as objects, one for each run: every put costs money, so a run waits longer for more pages than a file does. */
const GATHERING = { ms: 200, bytes: 8 * 1024 * 1024, runs: 4 }

export class S3PackPlace implements PackPlace {
  readonly remote = true
  readonly gathering = GATHERING
  readonly #address: S3Address
  readonly #clock: Clock
  readonly #s3: S3Calls
  #id: string | null = null
  #opening: Promise<string> | null = null

  constructor(address: S3Address, clock: Clock, load: () => Promise<Sdk> = loadSdk) {
    this.#address = address
    this.#clock = clock
    this.#s3 = new S3Calls(address, clock, load)
  }

  async id(): Promise<string | null> {
    this.#id ??= await this.#readId()
    return this.#id
  }

  /** Writes its name, the one that is there or a new one: what must not be written is found out before anything is fetched. */
  open(): Promise<string> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = null
      throw error
    })
    return this.#opening
  }

  async #open(): Promise<string> {
    for (let attempt = 1; attempt <= OPEN_ATTEMPTS; attempt++) {
      const known = await this.id()
      if (known === null) await this.#claim(randomBytes(4).toString('hex'))
      else await this.#writeId(known, false)
      // Another process may have created it first.
      const id = await this.#readId()
      if (id === null) continue
      this.#id = id
      return id
    }
    throw this.#unfit(`the service accepts ${this.#key('place')} and does not have it afterwards`)
  }

  async #claim(id: string): Promise<void> {
    try {
      await this.#writeId(id, true)
    } catch (error) {
      if (wasThere(error)) return
      if (!isUnknownCall(error)) throw error
      await this.#writeId(id, false)
    }
  }

  async #readId(): Promise<string | null> {
    const bytes = await this.#get(this.#key('place'), { start: 0, length: 64 })
    const text = bytes === null ? '' : Buffer.from(bytes).toString().trim()
    if (text !== '' && !ID.test(text)) throw this.#unfit(`${this.#key('place')} is not what Shoal wrote`)
    return text === '' ? null : text
  }

  async #writeId(id: string, first: boolean): Promise<void> {
    const { bucket: Bucket } = this.#address
    const asked = { Bucket, Key: this.#key('place'), Body: `${id}\n`, ContentType: 'text/plain' }
    await this.#s3.call(
      ({ PutObjectCommand }, client, abortSignal) =>
        client.send(new PutObjectCommand({ ...asked, ...(first ? { IfNoneMatch: '*' } : {}) }), { abortSignal }),
      { expected: (error) => first && (wasThere(error) || isUnknownCall(error)) },
    )
  }

  async write(run: Uint8Array): Promise<{ pack: string; start: number }> {
    const pack = newPackName(this.#clock.now(), randomBytes(8).toString('hex'))
    const { bucket: Bucket } = this.#address
    const Body = Buffer.concat([PACK_MAGIC, run])
    const { ETag } = await this.#s3.call(
      ({ PutObjectCommand }, client, abortSignal) =>
        client.send(
          new PutObjectCommand({ Bucket, Key: this.#packKey(pack), Body, ContentType: 'application/octet-stream' }),
          { abortSignal },
        ),
      { bytes: Body.length },
    )
    // Every S3 service names an ETag. A 200 without one is the login page of a network, or a proxy that answers in its own name.
    if (ETag === undefined)
      throw new ShoalError('pages_down', `${showS3(this.#address)}: the answer to a put is not from an S3 service`)
    return { pack, start: PACK_MAGIC.length }
  }

  async read(pack: string, start: number, length: number): Promise<Uint8Array | null> {
    if (!isPackName(pack)) return null
    if (length === 0) return (await this.has(pack)) ? new Uint8Array() : null
    return this.#get(this.#packKey(pack), { start, length })
  }

  async #get(Key: string, { start, length }: { start: number; length: number }): Promise<Uint8Array | null> {
    const { bucket: Bucket } = this.#address
    const Range = `bytes=${start}-${start + length - 1}`
    try {
      return await this.#s3.call(
        async ({ GetObjectCommand }, client, abortSignal) => {
          const answer = await client.send(new GetObjectCommand({ Bucket, Key, Range }), { abortSignal })
          const whole = answer.$metadata.httpStatusCode !== 206
          if (whole && (answer.ContentLength ?? Number.POSITIVE_INFINITY) > length)
            throw this.#unfit('the service does not know ranges of an object')
          return (await answer.Body?.transformToByteArray()) ?? null
        },
        { bytes: length, expected: isAbsent },
      )
    } catch (error) {
      if (isAbsent(error)) return null
      throw error
    }
  }

  #unfit(why: string): ShoalError {
    return new ShoalError('blobs_unwritable', `${showS3(this.#address)}: ${why}`, {
      hint: 'Check the endpoint: use a service that speaks S3 in full.',
    })
  }

  async has(pack: string): Promise<boolean> {
    const { bucket: Bucket } = this.#address
    try {
      await this.#s3.call(
        ({ HeadObjectCommand }, client, abortSignal) =>
          client.send(new HeadObjectCommand({ Bucket, Key: this.#packKey(pack) }), { abortSignal }),
        { expected: isAbsent },
      )
      return true
    } catch (error) {
      if (isAbsent(error)) return false
      throw error
    }
  }

  async *list(): AsyncGenerator<PackInfo> {
    const { bucket: Bucket } = this.#address
    const Prefix = this.#key('packs/')
    let token: string | undefined
    do {
      const ContinuationToken = token === undefined ? {} : { ContinuationToken: token }
      const answer = await this.#s3.call(({ ListObjectsV2Command }, client, abortSignal) =>
        client.send(new ListObjectsV2Command({ Bucket, Prefix, ...ContinuationToken }), { abortSignal }),
      )
      for (const { Key = '', Size = 0, LastModified } of answer.Contents ?? []) {
        const pack = Key.slice(Prefix.length, -ENDING.length)
        if (!Key.endsWith(ENDING) || !isPackName(pack) || LastModified === undefined) continue
        yield { pack, bytes: Size, writtenAt: LastModified.getTime() }
      }
      const next = answer.NextContinuationToken
      // Whoever takes half of a list for all of it finds pages missing that are there.
      if (answer.IsTruncated === true && (next === undefined || next === token))
        throw this.#unfit('the service lists a part of the objects only')
      token = answer.IsTruncated === false ? undefined : next
    } while (token !== undefined)
  }

  async remove(pack: string): Promise<void> {
    const { bucket: Bucket } = this.#address
    await this.#s3.call(({ DeleteObjectCommand }, client, abortSignal) =>
      client.send(new DeleteObjectCommand({ Bucket, Key: this.#packKey(pack) }), { abortSignal }),
    )
  }

  where(pack: string): string {
    return `${showS3(this.#address)}packs/${pack}${ENDING}`
  }

  close(): Promise<void> {
    return this.#s3.close()
  }

  #packKey(pack: string): string {
    return this.#key(`packs/${pack}${ENDING}`)
  }

  #key(name: string): string {
    return `${this.#address.prefix}${name}`
  }
}
