"""The towers of multimodal models, as the classes of transformers 5.24.0 build them.

Vision and audio encoders are told apart by their own model type, projectors by that of the wrapping model.
"""
