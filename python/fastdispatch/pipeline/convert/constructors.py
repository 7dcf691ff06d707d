"""Parameters of torch.nn's constructors, to check descriptions without PyTorch."""

from collections.abc import Iterable
from functools import cached_property

#: Classes with the same parameters, then these; a question mark marks optional ones.
_TABLE = """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d: output_size
AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d: output_size return_indices?
AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout: p? inplace?
AvgPool1d: kernel_size stride? padding? ceil_mode? count_include_pad?
AvgPool2d AvgPool3d: kernel_size stride? padding? ceil_mode? count_include_pad? divisor_override?
BCELoss MultiLabelSoftMarginLoss: weight? reduction?
BCEWithLogitsLoss: weight? reduction? pos_weight?
BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d SyncBatchNorm: num_features
    eps? momentum? affine? track_running_stats? bias?
Bilinear: in1_features in2_features out_features bias?
CELU ELU: alpha? inplace?
CTCLoss: blank? reduction? zero_infinity?
ChannelShuffle: groups
CircularPad1d CircularPad2d CircularPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d
    ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d: padding
ConstantPad1d ConstantPad2d ConstantPad3d: padding value
Conv1d Conv2d Conv3d: in_channels out_channels kernel_size stride? padding? dilation? groups? bias?
    padding_mode?
ConvTranspose1d ConvTranspose2d ConvTranspose3d: in_channels out_channels kernel_size stride? padding?
    output_padding? groups? bias? dilation? padding_mode?
CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss: margin? reduction?
CosineSimilarity: dim? eps?
CrossEntropyLoss: weight? ignore_index? reduction? label_smoothing?
CrossMapLRN2d LocalResponseNorm: size alpha? beta? k?
Embedding: num_embeddings embedding_dim padding_idx? max_norm? norm_type? scale_grad_by_freq? sparse?
EmbeddingBag: num_embeddings embedding_dim max_norm? norm_type? scale_grad_by_freq? mode? sparse?
    include_last_offset? padding_idx?
Flatten: start_dim? end_dim?
Fold: output_size kernel_size dilation? padding? stride?
FractionalMaxPool2d FractionalMaxPool3d: kernel_size output_size? output_ratio? return_indices?
GELU: approximate?
GLU LogSoftmax Softmax Softmin: dim?
GRU LSTM RNN: input_size hidden_size num_layers? bias? batch_first? dropout? bidirectional? proj_size?
GRUCell LSTMCell: input_size hidden_size bias?
GaussianNLLLoss: full? eps? reduction?
GroupNorm: num_groups num_channels eps? affine? bias?
Hardshrink Softshrink: lambd?
Hardsigmoid Hardswish Mish ReLU ReLU6 SELU SiLU: inplace?
Hardtanh: min_val? max_val? inplace?
HuberLoss: reduction? delta?
Identity LogSigmoid Sigmoid Softmax2d Softsign Tanh Tanhshrink:
KLDivLoss: reduction? log_target?
L1Loss MSELoss MultiLabelMarginLoss SoftMarginLoss: reduction?
LPPool1d LPPool2d LPPool3d: norm_type kernel_size stride? ceil_mode?
LayerNorm: normalized_shape eps? elementwise_affine? bias?
LeakyReLU: negative_slope? inplace?
Linear: in_features out_features bias?
LinearCrossEntropyLoss: in_features num_classes out_features? bias? reduction? weight? ignore_index?
    label_smoothing? options?
MaxPool1d MaxPool2d MaxPool3d: kernel_size stride? padding? dilation? return_indices? ceil_mode?
MaxUnpool1d MaxUnpool2d MaxUnpool3d: kernel_size stride? padding?
MultiMarginLoss: p? margin? weight? reduction?
MultiheadAttention: embed_dim num_heads dropout? bias? add_bias_kv? add_zero_attn? kdim? vdim? batch_first?
NLLLoss NLLLoss2d: weight? ignore_index? reduction?
PReLU: num_parameters? init?
PairwiseDistance: p? eps? keepdim?
PixelShuffle: upscale_factor
PixelUnshuffle: downscale_factor
PoissonNLLLoss: log_input? full? eps? reduction?
RMSNorm: normalized_shape eps? elementwise_affine?
RNNCell: input_size hidden_size bias? nonlinearity?
RReLU: lower? upper? inplace?
SmoothL1Loss: reduction? beta?
Softplus: beta? threshold?
Threshold: threshold value inplace?
TripletMarginLoss: margin? p? eps? swap? reduction?
TripletMarginWithDistanceLoss: distance_function? margin? swap? reduction?
Unflatten: dim unflattened_size
Unfold: kernel_size dilation? padding? stride?
Upsample: size? scale_factor? mode? align_corners? recompute_scale_factor?
UpsamplingBilinear2d UpsamplingNearest2d: size? scale_factor?
"""

#: Fields of the description of a class that are not parameters of its constructor.
_SHOWN_ONLY = {"UpsamplingBilinear2d": {"mode"}, "UpsamplingNearest2d": {"mode"}}


class Constructor:
    """The parameters of one class."""

    def __init__(self, name: str, parameters: str):
        self.name = name
        self._text = parameters

    @cached_property
    def parameters(self) -> list[str]:
        return [each.rstrip("?") for each in self._text.split()]

    @cached_property
    def required(self) -> list[str]:
        return [each for each in self._text.split() if not each.endswith("?")]

    @property
    def shown_only(self) -> set[str]:
        return _SHOWN_ONLY.get(self.name, set())

    def fault(self, positional: int, keywords: Iterable[str]) -> str | None:
        """Return the error of a call, or None."""
        given = [*self.parameters[:positional], *keywords]
        if positional > len(self.parameters):
            return f"torch.nn.{self.name} accepts at most {len(self.parameters)} arguments"
        for index, name in enumerate(given):
            if name not in self.parameters:
                return f"torch.nn.{self.name} does not accept {name}"
            if name in given[:index]:
                return f"{name} is given twice"
        missing = [name for name in self.required if name not in given]
        return f"its description lacks {' and '.join(missing)}" if missing else None


def _read() -> dict[str, Constructor]:
    found = {}
    for row in _TABLE.replace("\n    ", " ").splitlines():
        names, _, parameters = row.partition(":")
        found.update({name: Constructor(name, parameters) for name in names.split()})
    return found


CONSTRUCTORS = _read()
