import { ShoalError } from '../../errors.js'
import { CREDENTIALS, type S3Address, showS3 } from './s3-address.js'

/** What the SDK and the services say, by name; the rest by the status of the answer. */
const FORBIDDEN = new Set([
  ...['AccessDenied', 'AllAccessDisabled', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken'],
  ...['InvalidToken', 'CredentialsProviderError', 'TokenProviderError', 'RequestTimeTooSkewed', 'Forbidden'],
])
const ELSEWHERE = new Set(['PermanentRedirect', 'AuthorizationHeaderMalformed', 'TemporaryRedirect'])
/** The last three: the bytes changed on the way, and may arrive the next time. */
const BUSY = new Set([
  ...[
    'SlowDown',
    'RequestTimeout',
    'TimeoutError',
    'AbortError',
    'Throttling',
    'ThrottlingException',
    'OperationAborted',
  ],
  ...['BadDigest', 'IncompleteBody', 'XAmzContentSHA256Mismatch'],
])
const UNREACHABLE = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['ENETDOWN', 'EADDRNOTAVAIL', 'ECONNABORTED', 'ERR_STREAM_PREMATURE_CLOSE'],
])

/** Its own message and cause are left out: they repeat the access key, and what was signed with the secret one. */
export function s3Error(thrown: unknown, address: S3Address): ShoalError {
  if (thrown instanceof ShoalError) return thrown
  const { name, status, code } = facts(thrown)
  const where = showS3(address)
  if (name === 'NoSuchBucket')
    return new ShoalError('pages_missing', `${where}: there is no such bucket at ${endpointText(address)}`)
  if (FORBIDDEN.has(name) || status === 401 || status === 403) return forbidden(name, where)
  if (ELSEWHERE.has(name) || status === 301 || (status === 400 && name === 'BadRequest') || isRegionMissing(thrown))
    return new ShoalError('pages_missing', `${where}: the bucket is in another region, or the region is not known`, {
      hint: 'Name it in the address: s3://bucket/prefix?region=eu-central-1.',
    })
  if (BUSY.has(name) || UNREACHABLE.has(code) || status === 429 || status >= 500)
    return new ShoalError('pages_down', `${where}: ${endpointText(address)} is unreachable (${code || name || status})`)
  return new ShoalError(
    'blobs_unwritable',
    `${where}: ${endpointText(address)} refuses the call (${code || name} ${status})`,
    {
      hint: 'Check that the endpoint speaks S3.',
    },
  )
}

/** There is no such object, or it ends before the wanted range. */
export function isAbsent(thrown: unknown): boolean {
  const { name, status } = facts(thrown)
  return name !== 'NoSuchBucket' && (status === 404 || status === 416)
}

/** Another writer was first, on services that check for that. */
export function wasThere(thrown: unknown): boolean {
  const { status } = facts(thrown)
  return status === 412 || status === 409
}

/** The service does not know conditional writes. */
export function isUnknownCall(thrown: unknown): boolean {
  return facts(thrown).status === 501
}

const RENEW = `The credentials have expired. ${CREDENTIALS}`
/** No permission helps here. */
const HINTS: ReadonlyMap<string, string> = new Map([
  [
    'RequestTimeTooSkewed',
    'Set the clock of this machine: it differs from that of the service by more than 15 minutes.',
  ],
  ['ExpiredToken', RENEW],
  ['InvalidToken', RENEW],
])

function forbidden(name: string, where: string): ShoalError {
  if (name === 'CredentialsProviderError' || name === 'TokenProviderError')
    return new ShoalError('pages_forbidden', `${where}: no credentials were found`, { hint: CREDENTIALS })
  const hint = HINTS.get(name)
  return new ShoalError('pages_forbidden', `${where}: no access (${name})`, hint === undefined ? {} : { hint })
}

function facts(thrown: unknown): { name: string; status: number; code: string } {
  const { name, code, $metadata } = thrown as {
    name?: unknown
    code?: unknown
    $metadata?: { httpStatusCode?: unknown }
  }
  return {
    name: typeof name === 'string' ? name : '',
    code: typeof code === 'string' ? code : '',
    status: typeof $metadata?.httpStatusCode === 'number' ? $metadata.httpStatusCode : 0,
  }
}

function isRegionMissing(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message === 'Region is missing'
}

function endpointText({ endpoint }: S3Address): string {
  return endpoint === null ? 'Amazon S3' : new URL(endpoint).origin
}
