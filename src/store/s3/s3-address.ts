import { ShoalError } from '../../errors.js'
import { withoutTrailingSlashes } from '../../url/canonicalise.js'
import { parseUrl } from '../../url/parse-url.js'

export interface S3Address {
  readonly bucket: string
  /** Ends with a slash, or is empty. */
  readonly prefix: string
  /** Null: Amazon's own. */
  readonly endpoint: string | null
  /** Null: as the environment says. */
  readonly region: string | null
}

const BUCKET = /^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i
const SETTINGS = ['endpoint', 'region']

/** `s3://bucket/prefix?endpoint=https://…&region=…`. Errors do not repeat it: it may contain a secret. */
export function parseS3(address: string): S3Address {
  const url = parseUrl(address)
  if (url === null) throw wrong('cannot be read')
  if (url.username !== '' || url.password !== '') throw wrong('holds credentials', CREDENTIALS)
  const unknown = [...url.searchParams.keys()].find((name) => !SETTINGS.includes(name))
  if (unknown !== undefined) throw wrong(`has an unknown setting '${unknown}'; there are endpoint and region`)
  if (!BUCKET.test(url.hostname)) throw wrong('names no bucket')
  const prefix = withoutTrailingSlashes(decodeURIComponent(url.pathname).replace(/^\/+/, ''))
  return {
    bucket: url.hostname,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint: endpointOf(url.searchParams.get('endpoint')),
    region: url.searchParams.get('region') || null,
  }
}

export function showS3({ bucket, prefix }: S3Address): string {
  return `s3://${bucket}/${prefix}`
}

function endpointOf(given: string | null): string | null {
  if (given === null || given === '') return null
  const url = parseUrl(given)
  if (url === null || !/^https?:$/.test(url.protocol)) throw wrong('has an endpoint that is no http or https address')
  if (url.username !== '' || url.password !== '') throw wrong('holds credentials', CREDENTIALS)
  return url.href
}

export const CREDENTIALS =
  'Give them in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), in ~/.aws, or as the role of the machine.'

function wrong(what: string, hint?: string): ShoalError {
  return new ShoalError('pages_address', `the S3 address ${what}`, hint === undefined ? {} : { hint })
}
