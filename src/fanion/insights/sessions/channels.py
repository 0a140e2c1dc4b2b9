"""The channel of a session: by which kind of site it came, and whether that was paid for.

The lists are short and meant to be edited. A site is named by its label before the public suffix:
`google` for www.google.co.uk. Sites, media and campaigns are compared in lower case.

Source: insights.md, section 11, `$channel_type`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from fanion.properties.bindings import Bindings

Source = Literal["Search", "Video", "Social", "Shopping"]

# Sites as in `$referring_domain` and `utm_source`, and names that campaigns give to them.
SITES: Final[Mapping[Source, Sequence[str]]] = {
    "Search": (
        *("google", "bing", "yahoo", "duckduckgo", "ecosia", "baidu", "yandex", "naver", "sogou"),
        *("startpage", "qwant", "brave", "ask", "aol", "seznam", "kagi", "adwords", "googleads"),
    ),
    "Video": ("youtube", "youtu", "yt", "vimeo", "twitch", "dailymotion", "netflix"),
    "Social": (
        *("facebook", "fb", "instagram", "ig", "threads", "meta", "twitter", "x", "t", "linkedin"),
        *("lnkd", "reddit", "pinterest", "tiktok", "snapchat", "whatsapp", "telegram", "mastodon"),
        *("bsky", "quora", "tumblr", "vk", "weibo", "discord", "ycombinator", "lobste"),
    ),
    "Shopping": ("amazon", "ebay", "etsy", "shopify", "walmart", "aliexpress", "shopping"),
}

# `utm_medium` of paid visits; all text that begins with `paid` counts too.
PAID_MEDIA: Final = ("cpc", "cpm", "cpv", "cpa", "ppc", "retargeting")

# Channels of unpaid visits, each with its values of `utm_medium`.
MEDIA: Final[Mapping[str, Sequence[str]]] = {
    "Organic Search": ("organic", "search"),
    "Organic Social": ("social", "social-network", "social-media", "social network", "sm"),
    "Organic Video": ("video",),
    "Organic Shopping": ("shopping",),
    "Email": ("email", "e-mail", "e_mail", "e mail", "newsletter"),
    "Affiliate": ("affiliate", "affiliates"),
    "Audio": ("audio", "podcast"),
    "SMS": ("sms",),
    "Push": ("mobile", "notification"),
    "Referral": ("referral", "app", "link"),
}
# Channels of paid visits, each with its values of `utm_medium`.
MEDIA_OF_PAID: Final[Mapping[str, Sequence[str]]] = {
    "Paid Search": ("search",),
    "Paid Social": ("social", "paidsocial", "paid-social", "paid_social", "paid social"),
    "Paid Video": ("cpv", "video", "paidvideo"),
    "Paid Shopping": ("shopping",),
}

# Values of `utm_source` for visits without a source.
DIRECT_SOURCES: Final = ("", "(direct)", "direct", "$direct")
DIRECT: Final = "$direct"

SITE: Final = r"([^.]+)\.(?:(?:co|com|org|net|ac|gov|edu)\.)?[^.]+$"
SHOP: Final = r"(^|[^a-df-z])shop|shopping"

# The parts are those of `channel_sql`, '' when absent; sites, media and campaigns in lower case.
_CHANNEL = """multiIf(
    position({campaign}, 'cross-network') > 0, 'Cross Network',
    {medium} IN {paid_media} OR startsWith({medium}, 'paid') OR {gclid} != '' OR {gad} != '',
    coalesce({paid_by_source},
             if(match({campaign}, {shop}), 'Paid Shopping', NULL),
             {paid_by_medium},
             {paid_by_referrer},
             multiIf({gad} = '1', 'Paid Search', position({campaign}, 'video') > 0, 'Paid Video',
                     {fbclid} != '', 'Paid Social', 'Paid Unknown')),
    {referrer} = {direct} AND {medium} = '' AND {fbclid} = '' AND {source} IN {direct_sources},
    'Direct',
    coalesce({by_source},
             if(match({campaign}, {shop}), 'Organic Shopping', NULL),
             {by_medium},
             {by_referrer},
             multiIf(position({campaign}, 'video') > 0, 'Organic Video',
                     endsWith({medium}, 'push'), 'Push',
                     {fbclid} != '', 'Organic Social',
                     {referrer} = {direct}, 'Direct',
                     {referrer} != '', 'Referral', 'Unknown')))"""


def channel_sql(bindings: Bindings, parts: Mapping[str, str]) -> str:
    """Return SQL for the channel of a row, which is never null.

    Args:
        parts: Text expressions, '' when absent: source, medium, campaign, referrer, gclid, fbclid,
            gad.
    """
    lower = {
        name: f"lowerUTF8({parts[name]})" for name in ("source", "medium", "campaign", "referrer")
    }
    texts = {**parts, **lower}
    source, referrer = (_site(bindings, texts[name]) for name in ("source", "referrer"))
    return _CHANNEL.format(
        **texts,
        paid_media=bindings.texts(PAID_MEDIA),
        direct_sources=bindings.texts(DIRECT_SOURCES),
        direct=bindings.text(DIRECT),
        shop=bindings.text(SHOP),
        paid_by_source=_by_site(bindings, source, "Paid"),
        paid_by_medium=_by_text(bindings, texts["medium"], MEDIA_OF_PAID),
        paid_by_referrer=_by_site(bindings, referrer, "Paid"),
        by_source=_by_site(bindings, source, "Organic"),
        by_medium=_by_text(bindings, texts["medium"], MEDIA),
        by_referrer=_by_site(bindings, referrer, "Organic"),
    )


def _site(bindings: Bindings, text: str) -> str:
    """Return SQL for the site of a host; text without a dot is a name already."""
    return f"if(position({text}, '.') > 0, extract({text}, {bindings.text(SITE)}), {text})"


def _by_site(bindings: Bindings, site: str, prefix: str) -> str:
    channels = {f"{prefix} {kind}": sites for kind, sites in SITES.items()}
    return _by_text(bindings, site, channels)


def _by_text(bindings: Bindings, text: str, channels: Mapping[str, Sequence[str]]) -> str:
    """Return SQL for the channel whose list contains the text, null without any."""
    cases = ", ".join(
        f"{text} IN {bindings.texts(texts)}, {bindings.text(channel)}"
        for channel, texts in channels.items()
    )
    return f"multiIf({cases}, NULL)"
