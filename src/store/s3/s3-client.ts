import type { S3Client } from '@aws-sdk/client-s3'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import { type S3Address, showS3 } from './s3-address.js'
import { s3Error } from './s3-errors.js'

export type Sdk = typeof import('@aws-sdk/client-s3')

const DIAL_MS = 5_000
/** Of a silent connection. */
const SILENCE_MS = 15_000
/** Of one call, its repetitions included, and a second more for so many bytes of it: a line of 2 Mbit/s is slow, not down. */
const CALL_MS = 30_000
const BYTES_A_SECOND = 256 * 1024
/** One error of a briefly busy service is not an outage. */
const ATTEMPTS = 3

/** An optional package, loaded when somebody keeps pages in S3. */
export async function loadSdk(): Promise<Sdk> {
  // It would warn, once per thread, about a Node version that Shoal supports on purpose.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
  try {
    return await import('@aws-sdk/client-s3')
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new ShoalError('pages_driver', 'the package @aws-sdk/client-s3 is not installed')
  }
}

/** Calls of S3 with a deadline, and with errors of ours. */
export class S3Calls {
  readonly #address: S3Address
  readonly #clock: Clock
  readonly #load: () => Promise<Sdk>
  #loaded: Promise<{ sdk: Sdk; client: S3Client }> | null = null
  /** Of the calls under way. */
  readonly #ends = new Set<(why: string) => void>()

  constructor(address: S3Address, clock: Clock, load: () => Promise<Sdk>) {
    this.#address = address
    this.#clock = clock
    this.#load = load
  }

  /** What `expected` names is the caller's to understand; `bytes` are those that go out or come in. */
  async call<Answer>(
    work: (sdk: Sdk, client: S3Client, abortSignal: AbortSignal) => Promise<Answer>,
    { bytes = 0, expected = () => false }: { bytes?: number; expected?: (error: unknown) => boolean } = {},
  ): Promise<Answer> {
    const deadlineMs = CALL_MS + Math.ceil(bytes / BYTES_A_SECOND) * 1000
    const controller = new AbortController()
    let end: (why: string) => void = () => {}
    const ended = new Promise<never>((_, reject) => {
      end = (why) => {
        controller.abort()
        reject(new ShoalError('pages_down', `${showS3(this.#address)}: ${why}`))
      }
    })
    this.#ends.add(end)
    const cancel = this.#clock.after(deadlineMs, () => end(`no answer within ${deadlineMs / 1000} s`))
    try {
      // The race from the start: `ended` may be the answer while the SDK still loads.
      return await Promise.race([this.#open().then(({ sdk, client }) => work(sdk, client, controller.signal)), ended])
    } catch (error) {
      if (expected(error)) throw error
      throw s3Error(error, this.#address)
    } finally {
      cancel()
      this.#ends.delete(end)
    }
  }

  #open(): Promise<{ sdk: Sdk; client: S3Client }> {
    this.#loaded ??= this.#load().then((sdk) => ({ sdk, client: this.#client(sdk) }))
    return this.#loaded
  }

  #client({ S3Client }: Sdk): S3Client {
    const { endpoint, region } = this.#address
    return new S3Client({
      maxAttempts: ATTEMPTS,
      requestHandler: {
        connectionTimeout: DIAL_MS,
        socketTimeout: SILENCE_MS,
        // Otherwise it would warn about waiting, and earlier.
        socketAcquisitionWarningTimeout: CALL_MS,
      },
      // Other services than Amazon's stumble over newer checksums. The body is signed with its SHA-256, and each page has its own.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      ...(region === null ? {} : { region }),
      // A bucket as part of the host name is for services with a DNS of their own.
      ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
      ...(endpoint !== null && region === null ? { region: process.env.AWS_REGION ?? 'us-east-1' } : {}),
    })
  }

  async close(): Promise<void> {
    for (const end of this.#ends) end('closed')
    const loaded = await this.#loaded?.catch(() => null)
    loaded?.client.destroy()
  }
}
